# Run by the probe in the interpreter under examination. Answers one marked line of JSON; anything else that gets
# printed is ignored. Works from Python 3.7 on, and needs nothing but the standard library.
import sys

sys.path[:] = [p for p in sys.path if p not in ("", ".")]  # a torch.py in the current folder is not the framework

import importlib.util
import json
import warnings

answer = {"python": sys.version.split()[0], "torch": None, "error": None}


def ask():
    if importlib.util.find_spec("torch") is None:
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import torch

        found = {
            "version": str(torch.__version__),
            "cuda": getattr(torch.version, "cuda", None),
            "hip": getattr(torch.version, "hip", None),
            "available": bool(torch.cuda.is_available()),
            "devices": int(torch.cuda.device_count()),
            "file": getattr(torch, "__file__", None),
            "reason": None,
        }
        if not found["available"] and (found["cuda"] or found["hip"]):
            try:
                torch.cuda.init()
            except Exception as e:
                found["reason"] = str(e).strip()
    said = [str(w.message).strip() for w in caught if "CUDA" in str(w.message) or "HIP" in str(w.message)]
    if said:
        found["reason"] = " / ".join([r for r in [found["reason"]] if r] + said[:3])
    answer["torch"] = found


try:
    ask()
except BaseException as e:
    answer["error"] = "%s: %s" % (type(e).__name__, e)
sys.stdout.write("\nfascicolo-framework: " + json.dumps(answer) + "\n")
sys.stdout.flush()
