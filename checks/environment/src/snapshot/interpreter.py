# Run by a snapshot in the interpreter under examination, isolated (-I). Answers one marked line of JSON; anything else
# that gets printed is ignored. Needs only the standard library and imports no package that it describes.
import json
import os
import platform
import site
import sys
import sysconfig

VENV = sys.prefix != sys.base_prefix


def first_line_of(path, name):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                key, _, value = line.partition("=")
                if key.strip() == name:
                    return value.strip()
    except OSError:
        pass
    return None


def interpreter():
    base = first_line_of(os.path.join(sys.prefix, "pyvenv.cfg"), "include-system-site-packages")
    libc = " ".join(part for part in platform.libc_ver() if part)
    return {
        "chosen": "",
        "version": platform.python_version(),
        "build": " ".join(sys.version.split()),
        "implementation": sys.implementation.name,
        "executable": sys.executable or "",
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "is_venv": VENV,
        "sees_base_packages": (base or "").lower() == "true" if VENV else None,
        "abi": sysconfig.get_config_var("SOABI"),
        "platform": sysconfig.get_platform(),
        "libc": libc or None,
    }


def text_of(dist, name):
    try:
        return dist.read_text(name)
    except Exception:
        return None


def header(dist):
    # The head of METADATA only: parsing the whole, with its README, costs ten times more.
    text = text_of(dist, "METADATA") or text_of(dist, "PKG-INFO") or ""
    fields = {}
    for line in text.split("\n"):
        if not line.strip():
            break
        key, colon, value = line.partition(":")
        if colon and key in ("Name", "Version"):
            fields.setdefault(key, value.strip())
    return fields.get("Name"), fields.get("Version")


def source_of(dist):
    try:
        direct = json.loads(text_of(dist, "direct_url.json") or "null")
    except ValueError:
        direct = None
    if not isinstance(direct, dict) or "url" not in direct:
        return None, False
    vcs, archive = direct.get("vcs_info") or {}, direct.get("archive_info") or {}
    hashes = sorted("%s=%s" % pair for pair in (archive.get("hashes") or {}).items())
    source = {
        "url": str(direct["url"]),
        "vcs": vcs.get("vcs"),
        "revision": vcs.get("commit_id"),
        "hash": ",".join(hashes) or archive.get("hash"),
        "subdirectory": direct.get("subdirectory"),
    }
    return source, bool((direct.get("dir_info") or {}).get("editable"))


def describe(dist, user_site):
    name, version = header(dist)
    if not name:
        return None
    source, editable = source_of(dist)
    location = str(dist.locate_file(""))
    # Before PEP 610, editable installs left their .egg-info among the sources, outside any folder of packages.
    if source is None and str(getattr(dist, "_path", "")).endswith(".egg-info"):
        editable = os.path.basename(os.path.normpath(location)) not in ("site-packages", "dist-packages")
    return {
        "name": name,
        "version": version,
        "location": location,
        "installer": (text_of(dist, "INSTALLER") or "").strip() or None,
        "requested": text_of(dist, "REQUESTED") is not None,
        "source": source,
        "editable": editable,
        "user_site": user_site,
        "shadowed": False,
    }


def packages():
    import importlib.metadata as metadata

    found = [describe(d, False) for d in metadata.distributions()]
    user = site.getusersitepackages()
    if not VENV and os.path.isdir(user) and user not in sys.path:
        found += [describe(d, True) for d in metadata.distributions(path=[user])]
    seen = set()
    listed = [p for p in found if p]
    for p in listed:
        key = p["name"].lower().replace("_", "-").replace(".", "-")
        p["shadowed"] = key in seen
        seen.add(key)
    return listed


def framework(name, listed):
    import importlib.util

    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        spec = None
    folders = list(spec.submodule_search_locations or []) if spec else []
    # An empty folder of that name is importable too, as a namespace, and is no framework.
    if spec is None or spec.origin is None:
        return None
    versions = [p["version"] for p in listed if p["name"].lower() == name and not p["shadowed"]]
    return {"version": versions[0] if versions else None, "location": folders[0] if folders else None}


answer = {"interpreter": interpreter(), "packages": None, "packages_error": None}
try:
    answer["packages"] = packages()
except Exception as e:
    answer["packages_error"] = "%s: %s" % (type(e).__name__, e)
for name in ("torch", "numpy"):
    answer[name] = framework(name, answer["packages"] or [])
answer["torch_version_py"] = answer["torch_version_text"] = None
if answer["torch"] and answer["torch"]["location"]:
    path = os.path.join(answer["torch"]["location"], "version.py")
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            answer["torch_version_text"] = f.read(65536)
        answer["torch_version_py"] = path
    except OSError:
        pass
sys.stdout.write("\nfascicolo-interpreter: " + json.dumps(answer) + "\n")
sys.stdout.flush()
