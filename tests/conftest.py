pytest_plugins = ["tests.support.keystone"]
