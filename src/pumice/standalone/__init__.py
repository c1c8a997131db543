"""`pumice up`: the whole product on one machine, in one process and two children (Keystone, tgtd)."""
