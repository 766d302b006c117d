"""Fetching against real servers on loopback that misbehave.

Every case ends in a verified file or in one FetchError; never in a bad file under the final name.
"""

import base64
import gzip
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

import files
from projects import wait_for
from workflow.data import DataError, FetchError
from workflow.data.archives import extract
from workflow.data.download import Patience
from workflow.data.fetch import default_cache, fetch, in_mirror
from workflow.data.sources import Bundle, Checksum, File, NpmPackage, Url

BODY = bytes(range(256)) * 2000
HALF = BODY[: len(BODY) // 2]
DIGEST = hashlib.sha256(BODY).hexdigest()
IMPATIENT = Patience(connect=2, read=0.4, whole=20, attempts=2, pause=0.01)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append(self.path)
        self.server.routes[self.path](self)

    def log_message(self, *_):
        pass

    def send(self, body=b"", status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def cut(self):
        """Close the connection at once, without TLS's farewell."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)


def sends(body=b"", *, cut=False, **headers):
    """Make a route that answers with a body under some headers, and then may hang up."""

    def route(handler):
        handler.send(body, **{"Content_Length": len(body)} | headers)
        if cut:
            handler.cut()

    return route


def error_then_fine(handler):
    (sends(BODY) if handler.server.seen.count(handler.path) > 1 else sends(status=500))(handler)


def half_then_stall(handler):
    handler.send(HALF, Content_Length=len(BODY))
    handler.server.stop.wait(10)


def endless(handler):
    handler.send()
    try:
        while not handler.server.stop.is_set():
            handler.wfile.write(BODY)
    except OSError:
        handler.close_connection = True


def packs_on_request(handler):
    """Compress on the way, unless the client asked for the bytes as they are."""
    is_plain = handler.headers["Accept-Encoding"] == "identity"
    packed = sends(gzip.compress(BODY), Content_Encoding="gzip")
    (sends(BODY) if is_plain else packed)(handler)


def trickle(handler):
    """Slow enough to be caught in the middle, fast enough not to be a stall."""
    handler.send(Content_Length=len(BODY))
    for start in range(0, len(BODY), len(BODY) // 20):
        handler.wfile.write(BODY[start : start + len(BODY) // 20])
        handler.wfile.flush()
        handler.server.stop.wait(0.05)


ROUTES = {
    "/fine": sends(BODY),
    "/gone": sends(status=404),
    "/broken": sends(status=500),
    "/recovers": error_then_fine,
    "/stalls": half_then_stall,
    "/short": sends(HALF, cut=True, Content_Length=len(BODY)),
    "/short-no-length": sends(HALF, cut=True, Content_Length=None),
    "/length-too-small": sends(BODY, Content_Length=len(BODY) - 1),
    "/length-too-large": sends(BODY, cut=True, Content_Length=len(BODY) + 1),
    "/other": sends(BODY[::-1]),
    "/endless": endless,
    # As servers do that take a stored .gz for an encoding of its own.
    "/says-gzip": sends(BODY, Content_Encoding="gzip"),
    "/packs": packs_on_request,
    "/trickle": trickle,
    "/moved": sends(status=302, Location="/fine"),
    "/loop": sends(status=302, Location="/loop"),
    "/to-plain-http": sends(status=302, Location="http://example.invalid/file"),
    "/to-local-file": sends(status=302, Location="file:///etc/hostname"),
}


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that hangs up is what these tests are about."""


@pytest.fixture
def serve():
    """Return a function that starts a server, with TLS if given a context; it ends by itself."""
    running = []

    def start(context=None):
        server = QuietServer(("127.0.0.1", 0), Handler)
        server.seen, server.routes, server.stop = [], dict(ROUTES), threading.Event()
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "http" if context is None else "https"
        server.address = f"{scheme}://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.stop.set()
        server.shutdown()
        server.server_close()


@pytest.fixture
def server(serve):
    return serve()


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv("RNCA_MIRROR", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def a_file(*addresses, checksum=DIGEST):
    origins = tuple(Url(address) for address in addresses)
    return File("thing.bin", "sub/thing.bin", Checksum(checksum), origins, size=len(BODY))


def got(file, cache):
    """Fetch without much patience."""
    return fetch(file, cache, patience=IMPATIENT)


def assert_only_verified(cache):
    kept = [path for path in cache.iterdir() if path.is_file()]
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.name for path in kept)
    assert [path.name for path in (cache / ".work").iterdir() if path.suffix != ".lock"] == []
    return kept


@pytest.mark.parametrize(
    "route", ["/fine", "/recovers", "/moved", "/trickle", "/says-gzip", "/packs"]
)
def test_verified_file_arrives(server, tmp_path, route):
    path = got(a_file(server.address + route), tmp_path)
    assert path == tmp_path / DIGEST
    assert path.read_bytes() == BODY
    assert assert_only_verified(tmp_path) == [path]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("/gone", "404 Not Found"),
        ("/broken", r"500 Internal Server Error \(2 attempts\)"),
        ("/stalls", r"broke off: .*timed out.* \(2 attempts\)"),
        ("/short", r"broke off: .*IncompleteRead.* \(2 attempts\)"),
        ("/short-no-length", "wrong content: 256000 bytes with sha256"),
        ("/length-too-small", "wrong content: 511999 bytes"),
        ("/length-too-large", "broke off: .*IncompleteRead"),
        ("/other", "wrong content: 512000 bytes"),
        ("/endless", "more than the 512000 bytes expected"),
        ("/loop", "more than 5 redirects"),
        ("/to-plain-http", "refused: only https .*http://example.invalid/file"),
        ("/to-local-file", "refused: only https .*file:///etc/hostname"),
        ("http://example.invalid/thing", "refused: only https"),
    ],
)
def test_misbehaviour_ends_in_one_message_unless_the_next_mirror_makes_good(
    server, tmp_path, address, reason
):
    address = server.address + address if address.startswith("/") else address
    with pytest.raises(FetchError, match=reason) as caught:
        got(a_file(address), tmp_path)
    message = str(caught.value)
    assert message.startswith("could not fetch thing.bin. Sources tried:")
    assert f"put it at {tmp_path / DIGEST}, or at sub/thing.bin" in message
    assert f"it must have sha256 {DIGEST}" in message
    assert assert_only_verified(tmp_path) == []
    path = got(a_file(address, server.address + "/fine"), tmp_path)
    assert assert_only_verified(tmp_path) == [path]


def test_too_slow_a_server_is_given_up(server, tmp_path):
    hurried = Patience(connect=2, read=1, whole=0.2, attempts=1)
    with pytest.raises(FetchError, match="too slow"):
        fetch(a_file(server.address + "/trickle"), tmp_path, patience=hurried)


def test_nobody_answers(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/x"
        with pytest.raises(FetchError, match=r"Connection refused \(2 attempts\)"):
            got(a_file(address), tmp_path)


def test_https_is_fetched_only_whole_and_from_a_trusted_server(serve, tmp_path, monkeypatch):
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
    tls = serve(context).address
    with pytest.raises(FetchError, match="broke off"):
        got(a_file(tls + "/short"), tmp_path / "one")
    file = a_file(tls + "/short", tls + "/fine")
    assert got(file, tmp_path / "one").read_bytes() == BODY
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    with pytest.raises(FetchError, match="certificate verify failed"):
        got(file, tmp_path / "two")


def test_tls_dropped_in_the_handshake(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up():
            for _ in range(IMPATIENT.attempts):
                connection, _ = listener.accept()
                connection.recv(10)
                connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        address = f"https://127.0.0.1:{listener.getsockname()[1]}/x"
        with pytest.raises(FetchError, match=r"\(2 attempts\)"):
            got(a_file(address), tmp_path)
        thread.join()
    assert assert_only_verified(tmp_path) == []


@pytest.fixture
def mirrored(tmp_path, monkeypatch):
    """The place of the file in a mirror."""
    monkeypatch.setenv("RNCA_MIRROR", str(tmp_path / "mirror"))
    (tmp_path / "mirror" / "sub").mkdir(parents=True)
    return tmp_path / "mirror" / "sub" / "thing.bin"


def test_every_source_is_named(server, tmp_path, mirrored):
    file = a_file(server.address + "/gone", server.address + "/other")
    with pytest.raises(FetchError) as caught:
        got(file, tmp_path / "cache")
    lines = str(caught.value).splitlines()
    assert lines[1].startswith(f"  - {mirrored}: cannot be read")
    assert lines[2].startswith(f"  - {server.address}/gone: the server answered 404")
    assert lines[3].startswith(f"  - {server.address}/other: wrong content")
    assert lines[4].startswith(f"By hand: put it at {tmp_path / 'cache'}")


def test_mirror_comes_first_in_either_form(server, tmp_path, mirrored):
    mirrored.write_bytes(BODY)
    got(a_file(server.address + "/fine"), tmp_path / "one")
    assert in_mirror(a_file()) is True
    address = Url(server.address + "/fine")
    file = File("t.gz", "t.gz", Checksum("0" * 64), (address,), alternative=a_file())
    assert got(file, tmp_path / "two").name == DIGEST
    assert server.seen == []


def make_long(path):
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # takes no room


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.write_bytes(b"something else"), "wrong content: 14 bytes with sha256 "),
        (make_long, f"wrong content: more than the {len(BODY)} "),
        (os.mkfifo, "not a regular file, so it was not read"),
        (lambda path: path.symlink_to("/dev/zero"), "not a regular file, so it was not read"),
        pytest.param(
            lambda path: path.symlink_to("/proc/self/mem"),
            "cannot be read from the mirror: Input/output",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="opens and cannot be read"),
        ),
    ],
    ids=["other", "long", "pipe", "endless", "unreadable"],
)
def test_wrong_file_in_the_mirror_is_reported_and_passed_over(
    server, tmp_path, mirrored, capsys, make, reason
):
    make(mirrored)
    assert got(a_file(server.address + "/fine"), tmp_path / "cache").read_bytes() == BODY
    assert f"{mirrored}: {reason}" in capsys.readouterr().err
    assert in_mirror(a_file()) is False
    with pytest.raises(FetchError, match=f"{mirrored}: {reason}"):
        got(a_file(checksum="0" * 64), tmp_path / "cache")


def test_second_fetch_asks_nobody_and_damage_is_repaired(server, tmp_path):
    file = a_file(server.address + "/fine")
    path = got(file, tmp_path)
    got(file, tmp_path)
    assert server.seen == ["/fine"]
    path.write_bytes(BODY[:-1])
    assert got(file, tmp_path).read_bytes() == BODY
    assert server.seen == ["/fine", "/fine"]


def test_a_file_put_by_hand_is_accepted_if_right(tmp_path):
    (tmp_path / DIGEST).write_bytes(BODY)
    assert fetch(a_file(), tmp_path) == tmp_path / DIGEST
    (tmp_path / DIGEST).write_bytes(b"no")
    with pytest.raises(FetchError, match="damaged: its checksum is wrong"):
        fetch(a_file(), tmp_path)


@pytest.mark.parametrize("arguments", [("abc",), ("G" * 64,), ("0" * 64, "md5")])
def test_checksums_are_checked(arguments):
    with pytest.raises(DataError, match="checksum"):
        Checksum(*arguments)


def test_git_blob_is_verified(server, tmp_path):
    blob = hashlib.sha1(b"blob %d\0" % len(BODY) + BODY).hexdigest()
    file = File("r", "r", Checksum(blob, "git-blob"), (Url(server.address + "/fine"),))
    assert got(file, tmp_path).name == f"git-blob-{blob}"
    with pytest.raises(FetchError, match=f"wrong content: .* git-blob {blob}"):
        got(replace(file, checksum=Checksum("0" * 40, "git-blob")), tmp_path)


PACKED = files.tar(
    {
        "package/thing": BODY,
        "package/other": b"other",
        "package/package.json": b'{"name": "tiny-data", "version": "1.0.0"}',
    },
    "w:gz",
)


def unpack(archive, directory):
    extract(archive, {"package/thing": "thing", "package/other": "other"}, directory)


def in_bundle(origin, checksum=DIGEST, packed=PACKED):
    digest = Checksum(hashlib.sha256(packed).hexdigest())
    bundle = Bundle(File("tiny.tgz", "tiny.tgz", digest, (origin,)), f"{__name__}:unpack")
    return File("thing", "sub/thing", Checksum(checksum), (bundle,))


def test_archive_is_fetched_once_for_all_its_files(server, tmp_path):
    server.routes["/tiny.tgz"] = sends(PACKED)
    origin = Url(server.address + "/tiny.tgz")
    other = hashlib.sha256(b"other").hexdigest()
    assert got(in_bundle(origin), tmp_path).read_bytes() == BODY
    assert got(in_bundle(origin, other), tmp_path).read_bytes() == b"other"
    assert server.seen == ["/tiny.tgz"]
    assert len(assert_only_verified(tmp_path)) == 2
    with pytest.raises(FetchError, match="no file in it has sha256 0000"):
        got(in_bundle(origin, "0" * 64), tmp_path)
    with pytest.raises(FetchError, match=r"inside tiny.tgz: .*/gone: the server answered 404"):
        got(in_bundle(Url(server.address + "/gone"), "0" * 64), tmp_path)


def test_alternative_form_is_tried_last(server, tmp_path):
    raw = a_file(server.address + "/fine")
    origins = (Url(server.address + "/gone"),)
    both = File("t.gz", "t.gz", Checksum("0" * 64), origins, alternative=raw)
    assert got(both, tmp_path).name == DIGEST
    got(both, tmp_path)
    assert server.seen == ["/gone", "/fine"]


@pytest.fixture
def registry(server, monkeypatch):
    """A package registry with one package, for the real npm client."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    integrity = base64.b64encode(hashlib.sha512(PACKED).digest()).decode()
    address = f"{server.address}/tiny-data-1.0.0.tgz"
    dist = {"tarball": address, "integrity": f"sha512-{integrity}"}
    version = {"name": "tiny-data", "version": "1.0.0", "dist": dist}
    tags = {"name": "tiny-data", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    document = sends(json.dumps(tags).encode(), Content_Type="application/json")
    server.routes |= {"/tiny-data": document, "/tiny-data-1.0.0.tgz": sends(PACKED)}
    server.routes |= {"/no-such-data": sends(status=404), "/busy": sends(status=503)}
    monkeypatch.setenv("npm_config_registry", server.address + "/")
    return server


PATIENT = Patience(attempts=1)


def test_npm_package_yields_its_files(registry, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    file = in_bundle(NpmPackage("tiny-data@1.0.0"))
    assert fetch(file, Path(tmp_path.name), patience=PATIENT).read_bytes() == BODY
    assert len(assert_only_verified(tmp_path)) == 2


def test_npm_failures_are_named(registry, tmp_path, monkeypatch):
    for file, reason in (
        (in_bundle(NpmPackage("no-such-data@1.0.0")), "no-such-data@1.0.0: npm ended with .*404"),
        (in_bundle(NpmPackage("tiny-data@1.0.0"), packed=b""), "tiny-data@1.0.0: wrong content"),
    ):
        with pytest.raises(FetchError, match=f"npm package {reason}"):
            fetch(file, tmp_path, patience=PATIENT)
    assert assert_only_verified(tmp_path) == []
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match="the npm client is not installed"):
        fetch(in_bundle(NpmPackage("tiny-data@1.0.0")), tmp_path)


def test_npm_asks_again_after_our_pause(registry, tmp_path):
    """Its own pause is ten seconds, then sixty."""
    started, patience = time.monotonic(), Patience(attempts=2, pause=0.01)
    with pytest.raises(FetchError, match=r"npm ended with .*503"):
        fetch(in_bundle(NpmPackage("busy@1.0.0")), tmp_path, patience=patience)
    assert registry.seen == 2 * ["/busy"]
    assert time.monotonic() - started < 10


FETCHER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from test_fetch import a_file, fetch
print(fetch(a_file(sys.argv[1]), Path(sys.argv[2])))
"""


def fetcher(address, cache, **options):
    here = Path(__file__)
    command = [sys.executable, "-c", FETCHER, address, cache, here.parent, here.parents[2]]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **options)


def test_two_processes_fetch_once(server, tmp_path):
    both = [fetcher(server.address + "/trickle", tmp_path) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=300)
        assert (out.strip(), process.returncode) == (str(tmp_path / DIGEST), 0), err
    assert server.seen == ["/trickle"]
    assert len(assert_only_verified(tmp_path)) == 1


def test_killed_fetch_is_run_again(server, tmp_path):
    partial = tmp_path / ".work" / f"{DIGEST}.partial"
    with fetcher(server.address + "/trickle", tmp_path) as process:
        wait_for(lambda: partial.exists() and partial.stat().st_size, process)
        os.kill(process.pid, signal.SIGKILL)
    assert partial.exists()
    assert not (tmp_path / DIGEST).exists()
    assert got(a_file(server.address + "/fine"), tmp_path).read_bytes() == BODY
    assert len(assert_only_verified(tmp_path)) == 1


FULL = r"disk full .*: .* free, thing.bin needs 512,000 bytes; free some space or set RNCA_CACHE"


def test_full_disk_is_its_own_reason(server, small_disk):
    with pytest.raises(FetchError, match=FULL):
        got(a_file(server.address + "/fine", server.address + "/moved"), small_disk)
    assert assert_only_verified(small_disk) == []
    assert server.seen == ["/fine"]


def test_file_size_limit_is_a_full_disk(server, tmp_path):
    limit = 256_000
    process = fetcher(
        server.address + "/fine",
        tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert re.search(FULL, err)
    assert assert_only_verified(tmp_path) == []


def test_unwritable_cache_is_named(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the directory should be")
    with pytest.raises(FetchError, match="the cache cannot be written"):
        got(a_file(server.address + "/fine"), tmp_path / "cache")


def test_cache_directory_by_environment(monkeypatch):
    monkeypatch.delenv("RNCA_CACHE", raising=False)
    assert default_cache() == Path("data/cache")
    monkeypatch.setenv("RNCA_CACHE", "elsewhere")
    assert default_cache() == Path("elsewhere")
