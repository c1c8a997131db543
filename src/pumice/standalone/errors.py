class StandaloneError(Exception):
    """What keeps `pumice up` from running, in one line for the person at the terminal."""
