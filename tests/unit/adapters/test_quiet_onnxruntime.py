import os
import subprocess
import sys
from pathlib import Path


def test_embedding_leaves_no_trace_in_home_or_temporary_folder(tmp_path: Path) -> None:
    """The runtime's telemetry wrote a device id into the home and a database for its events."""
    code = """if True:
        import os
        from vecctx.adapters.onnx_embedder import OnnxEmbedder
        OnnxEmbedder().embed_query("x")
        print(*os.environ)"""
    places = {name: str(tmp_path) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME")}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ORT_")}

    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, **places}, capture_output=True, text=True, check=True
    )

    assert list(tmp_path.rglob("*")) == []
    assert "ORT_DISABLE_TELEMETRY" not in done.stdout
