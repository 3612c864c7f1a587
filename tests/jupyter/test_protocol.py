"""jupyter_kernel_test's own suite for kernels, and what users notice first."""
import os
import queue
import subprocess
import time

import jupyter_client
import jupyter_kernel_test


class FascicoloTests(jupyter_kernel_test.KernelTests):
    kernel_name = "fascicolo"
    language_name = "rust"
    file_extension = ".rs"
    code_hello_world = 'println!("hello, world");'
    code_stderr = 'eprintln!("oops");'
    code_page_something = "?compare"
    code_generate_error = "let wrong: u8 = \"text\";"
    code_execute_result = [{"code": "40 + 2", "result": "42"}, {"code": "40 + 3", "result": "43"}]
    code_display_data = [{"code": "%help", "mime": "text/plain"}, {"code": "%help compare", "mime": "text/html"}]
    completion_samples = [{"text": "%com", "matches": {"compare"}}, {"text": "%d", "matches": {"declare", "dossier"}}]
    complete_code_samples = ["let x = 1;", "%help", "fn f() { }"]
    incomplete_code_samples = ["fn f() {", "let x = (1,"]
    invalid_code_samples = ["let x = 1 }"]
    code_history_pattern = "40 ? 2*"
    supported_history_operations = ("tail", "search", "range")
    code_inspect_sample = "%compare"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # The first Rust cell waits for the engine.
        cls.kc.execute_interactive("let warm = 1;", timeout=120, output_hook=lambda _: None)


def start(folder):
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="fascicolo", startup_timeout=60, cwd=str(folder))
    return manager, client


def test_kernel_info_is_answered_while_the_rust_engine_warms_up(tmp_path):
    began = time.monotonic()
    manager, client = start(tmp_path)
    try:
        assert time.monotonic() - began < 3
        assert client.kernel_info(reply=True, timeout=5)["content"]["implementation"] == "fascicolo"
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


def test_an_interrupt_ends_a_rust_loop_and_the_kernel_runs_on_and_leaves_no_process(tmp_path):
    manager, client = start(tmp_path)
    try:
        client.execute_interactive("let before = 1;", timeout=120, output_hook=lambda _: None)
        message = client.execute("loop { std::thread::sleep(std::time::Duration::from_millis(5)); }")
        time.sleep(3)
        manager.interrupt_kernel()
        while True:
            reply = client.get_shell_msg(timeout=30)
            if reply["parent_header"]["msg_id"] == message:
                break
        assert reply["content"]["status"] == "error"
        assert reply["content"]["ename"] == "Interrupted"
        assert "before" in reply["content"]["evalue"], reply["content"]["evalue"]
        shown = []
        client.execute_interactive("println!(\"on\");", timeout=60, output_hook=lambda m: shown.append(m["content"].get("text", "")))
        assert "on\n" in "".join(shown)
    finally:
        pid = manager.provisioner.process.pid
        client.stop_channels()
        manager.shutdown_kernel()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout
        left = [line for line in listed.splitlines() if os.environ["FASCICOLO"] in line and f" {pid} " in f" {line} "]
        if not left:
            return
        time.sleep(0.2)
    raise AssertionError(left)


def test_every_cell_has_its_start_and_its_end_in_the_case_file(tmp_path, program):
    manager, client = start(tmp_path)
    for code in ("%help", "%nonsense", "let x = 1;", "x + 1", "panic!(\"no\");"):
        client.execute_interactive(code, timeout=120, output_hook=lambda _: None)
    client.stop_channels()
    manager.shutdown_kernel()
    import json

    log = subprocess.run([program, "dossier", "log", str(tmp_path / "session.fascicolo"), "--json"], capture_output=True, text=True)
    kinds = [entry["kind"] for entry in json.loads(log.stdout)]
    assert kinds.count("start") == 5 and kinds.count("end") == 3 and kinds.count("error") == 2, kinds
    assert subprocess.run([program, "dossier", "verify", str(tmp_path / "session.fascicolo")], capture_output=True).returncode == 0


def test_a_killed_kernel_leaves_a_case_file_that_verifies_with_every_cell_in_it(tmp_path, program):
    manager, client = start(tmp_path)
    for code in ("%help", "%help compare"):
        client.execute_interactive(code, timeout=60, output_hook=lambda _: None)
    time.sleep(5)
    client.execute("std::thread::sleep(std::time::Duration::from_secs(60));")
    time.sleep(1)
    manager.provisioner.process.kill()
    client.stop_channels()
    manager.cleanup_resources()
    import json

    dossier = str(tmp_path / "session.fascicolo")
    checked = subprocess.run([program, "dossier", "verify", dossier, "--json"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    assert json.loads(checked.stdout)["checkpoint"] is True
    log = json.loads(subprocess.run([program, "dossier", "log", dossier, "--json"], capture_output=True, text=True).stdout)
    assert [entry["kind"] for entry in log].count("start") == 3, "the cell that was running is in it"
