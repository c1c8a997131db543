NEWEST = "0002_0001"
"""The version of the schema that this release's code was made for: the last one in `versions`."""
