import sys

# All of Pumice runs on plain threads. Libraries below it behave otherwise where they find eventlet installed (one of
# them requires it), and finding it costs 0.2 s and 15 MB at every start: so they find none.
sys.modules.setdefault("eventlet", None)  # type: ignore[arg-type]
