"""Fetching against real servers on loopback that misbehave.

Every case ends in a verified file or in one FetchError; never in a bad file under the final name.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tarfile
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from workflow.data.archives import extract
from workflow.data.checksums import Checksum
from workflow.data.download import Patience
from workflow.data.errors import FetchError
from workflow.data.fetch import default_cache, fetch, in_mirror
from workflow.data.sources import Bundle, File, NpmPackage, Url

BODY = bytes(range(256)) * 2000
DIGEST = hashlib.sha256(BODY).hexdigest()
IMPATIENT = Patience(connect=2, read=0.4, whole=20, attempts=2, pause=0.01)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append(self.path)
        self.server.routes[self.path](self)

    def log_message(self, *_):
        pass

    def head(self, status=200, length=None, **headers):
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def cut(self):
        """Close the connection at once, without TLS's farewell."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)


def fine(handler):
    handler.head(length=len(BODY))
    handler.wfile.write(BODY)


def error_then_fine(handler):
    if handler.server.seen.count(handler.path) > 1:
        fine(handler)
    else:
        handler.send_error(500)


def half_then_stall(handler):
    handler.head(length=len(BODY))
    handler.wfile.write(BODY[: len(BODY) // 2])
    handler.server.stop.wait(10)


def half(handler):
    handler.head(length=len(BODY))
    handler.wfile.write(BODY[: len(BODY) // 2])
    handler.cut()


def half_without_length(handler):
    handler.head()
    handler.wfile.write(BODY[: len(BODY) // 2])
    handler.cut()


def length_too_small(handler):
    handler.head(length=len(BODY) - 1)
    handler.wfile.write(BODY)


def length_too_large(handler):
    handler.head(length=len(BODY) + 1)
    handler.wfile.write(BODY)
    handler.cut()


def other_bytes(handler):
    handler.head(length=len(BODY))
    handler.wfile.write(BODY[::-1])


def endless(handler):
    handler.head()
    try:
        while not handler.server.stop.is_set():
            handler.wfile.write(BODY)
    except OSError:
        handler.close_connection = True


def says_gzip(handler):
    """As servers do that take a stored .gz for an encoding of its own."""
    handler.head(length=len(BODY), **{"Content-Encoding": "gzip"})
    handler.wfile.write(BODY)


def packs_on_request(handler):
    """Compress on the way, unless the client asked for the bytes as they are."""
    if handler.headers["Accept-Encoding"] == "identity":
        fine(handler)
    else:
        packed = gzip.compress(BODY)
        handler.head(length=len(packed), **{"Content-Encoding": "gzip"})
        handler.wfile.write(packed)


def trickle(handler):
    """Slow enough to be caught in the middle, fast enough not to be a stall."""
    handler.head(length=len(BODY))
    for start in range(0, len(BODY), len(BODY) // 20):
        handler.wfile.write(BODY[start : start + len(BODY) // 20])
        handler.wfile.flush()
        handler.server.stop.wait(0.05)


def redirect(target):
    return lambda handler: handler.head(302, length=0, Location=target)


ROUTES = {
    "/fine": fine,
    "/gone": lambda handler: handler.send_error(404),
    "/broken": lambda handler: handler.send_error(500),
    "/recovers": error_then_fine,
    "/stalls": half_then_stall,
    "/short": half,
    "/short-no-length": half_without_length,
    "/length-too-small": length_too_small,
    "/length-too-large": length_too_large,
    "/other": other_bytes,
    "/endless": endless,
    "/says-gzip": says_gzip,
    "/packs": packs_on_request,
    "/trickle": trickle,
    "/moved": redirect("/fine"),
    "/loop": redirect("/loop"),
    "/to-plain-http": redirect("http://example.invalid/file"),
    "/to-local-file": redirect("file:///etc/hostname"),
}


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that hangs up is what these tests are about."""


def serve(context=None):
    server = QuietServer(("127.0.0.1", 0), Handler)
    server.seen, server.routes, server.stop = [], dict(ROUTES), threading.Event()
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if context is None else "https"
    server.address = f"{scheme}://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv("RNCA_MIRROR", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server():
    running = serve()
    yield running
    running.stop.set()
    running.shutdown()
    running.server_close()


def a_file(*addresses, checksum=DIGEST):
    origins = tuple(Url(address) for address in addresses)
    return File("thing.bin", "sub/thing.bin", Checksum(checksum), origins, size=len(BODY))


def assert_only_verified(cache):
    kept = [path for path in cache.iterdir() if path.is_file()]
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.name for path in kept)
    assert [path.name for path in (cache / ".work").iterdir() if path.suffix != ".lock"] == []
    return kept


@pytest.mark.parametrize(
    "route", ["/fine", "/recovers", "/moved", "/trickle", "/says-gzip", "/packs"]
)
def test_verified_file_arrives(server, tmp_path, route):
    path = fetch(a_file(server.address + route), tmp_path, patience=IMPATIENT)
    assert path == tmp_path / DIGEST
    assert path.read_bytes() == BODY
    assert assert_only_verified(tmp_path) == [path]


FAILURES = {
    "/gone": "404 Not Found",
    "/broken": r"500 Internal Server Error \(2 attempts\)",
    "/stalls": r"broke off: .*timed out.* \(2 attempts\)",
    "/short": r"broke off: .*IncompleteRead.* \(2 attempts\)",
    "/short-no-length": "wrong content: 256000 bytes with sha256",
    "/length-too-small": "wrong content: 511999 bytes",
    "/length-too-large": "broke off: .*IncompleteRead",
    "/other": "wrong content: 512000 bytes",
    "/endless": "more than the 512000 bytes expected",
    "/loop": "more than 5 redirects",
    "/to-plain-http": "http://example.invalid/file refused: only https",
    "/to-local-file": "file:///etc/hostname refused: only https",
}


@pytest.mark.parametrize("route", FAILURES)
def test_misbehaviour_ends_in_one_message(server, tmp_path, route):
    with pytest.raises(FetchError, match=FAILURES[route]) as caught:
        fetch(a_file(server.address + route), tmp_path, patience=IMPATIENT)
    message = str(caught.value)
    assert message.startswith("could not fetch thing.bin. Sources tried:")
    assert f"put it at {tmp_path / DIGEST}, or at sub/thing.bin" in message
    assert f"it must have sha256 {DIGEST}" in message
    assert assert_only_verified(tmp_path) == []


@pytest.mark.parametrize("route", FAILURES)
def test_next_mirror_makes_good(server, tmp_path, route):
    file = a_file(server.address + route, server.address + "/fine")
    assert fetch(file, tmp_path, patience=IMPATIENT).read_bytes() == BODY
    assert len(assert_only_verified(tmp_path)) == 1


def test_too_slow_a_server_is_given_up(server, tmp_path):
    hurried = Patience(connect=2, read=1, whole=0.2, attempts=1)
    with pytest.raises(FetchError, match="too slow"):
        fetch(a_file(server.address + "/trickle"), tmp_path, patience=hurried)


def test_nobody_answers(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/x"
        with pytest.raises(FetchError, match=r"Connection refused \(2 attempts\)"):
            fetch(a_file(address), tmp_path, patience=IMPATIENT)


def test_plain_http_elsewhere_is_refused(tmp_path):
    with pytest.raises(FetchError, match="refused: only https"):
        fetch(a_file("http://example.invalid/thing"), tmp_path, patience=IMPATIENT)


@pytest.fixture
def tls(tmp_path_factory, monkeypatch):
    """An https server whose certificate is trusted."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    bundle = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(str(bundle))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    running = serve(context)
    yield running
    running.stop.set()
    running.shutdown()
    running.server_close()


def test_https_is_fetched_only_from_a_trusted_server(tls, tmp_path, monkeypatch):
    file = a_file(tls.address + "/fine")
    assert fetch(file, tmp_path / "one", patience=IMPATIENT).read_bytes() == BODY
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    with pytest.raises(FetchError, match="certificate verify failed"):
        fetch(file, tmp_path / "two", patience=IMPATIENT)


def test_tls_dropped_in_the_middle(tls, tmp_path):
    file = a_file(tls.address + "/short", tls.address + "/fine")
    assert fetch(file, tmp_path / "one", patience=IMPATIENT).read_bytes() == BODY
    with pytest.raises(FetchError, match="broke off"):
        fetch(a_file(tls.address + "/short"), tmp_path / "two", patience=IMPATIENT)


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
            fetch(a_file(address), tmp_path, patience=IMPATIENT)
        thread.join()
    assert assert_only_verified(tmp_path) == []


def test_every_source_is_named(server, tmp_path, monkeypatch):
    monkeypatch.setenv("RNCA_MIRROR", str(tmp_path / "mirror"))
    file = a_file(server.address + "/gone", server.address + "/other")
    with pytest.raises(FetchError) as caught:
        fetch(file, tmp_path / "cache", patience=IMPATIENT)
    lines = str(caught.value).splitlines()
    assert lines[1].startswith(f"  - {tmp_path / 'mirror/sub/thing.bin'}: cannot be read")
    assert lines[2].startswith(f"  - {server.address}/gone: the server answered 404")
    assert lines[3].startswith(f"  - {server.address}/other: wrong content")
    assert lines[4].startswith(f"By hand: put it at {tmp_path / 'cache'}")


@pytest.fixture
def mirror_with(tmp_path, monkeypatch):
    def make(content):
        place = tmp_path / "mirror/sub/thing.bin"
        place.parent.mkdir(parents=True)
        place.write_bytes(content)
        monkeypatch.setenv("RNCA_MIRROR", str(tmp_path / "mirror"))

    return make


def test_mirror_comes_first(server, tmp_path, mirror_with):
    mirror_with(BODY)
    fetch(a_file(server.address + "/fine"), tmp_path / "cache", patience=IMPATIENT)
    assert server.seen == []
    assert in_mirror(a_file()) is True


def test_mirror_comes_first_in_either_form(server, tmp_path, mirror_with):
    mirror_with(BODY)
    address = Url(server.address + "/fine")
    file = File("t.gz", "t.gz", Checksum("0" * 64), (address,), alternative=a_file())
    assert fetch(file, tmp_path / "cache", patience=IMPATIENT).name == DIGEST
    assert server.seen == []


def test_wrong_mirror_file_is_reported_and_passed_over(server, tmp_path, mirror_with, capsys):
    mirror_with(b"something else")
    path = fetch(a_file(server.address + "/fine"), tmp_path / "cache", patience=IMPATIENT)
    assert path.read_bytes() == BODY
    place = tmp_path / "mirror/sub/thing.bin"
    assert capsys.readouterr().err.startswith(f"{place}: wrong content: 14 bytes with sha256 ")
    with pytest.raises(FetchError, match=r"mirror/sub/thing.bin: wrong content: 14 bytes"):
        fetch(a_file(checksum="0" * 64), tmp_path / "cache", patience=IMPATIENT)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)])
def test_mirror_file_that_is_none_is_passed_over(server, tmp_path, mirror_with, capsys, make):
    mirror_with(b"")
    place = tmp_path / "mirror/sub/thing.bin"
    place.unlink()
    make(place)
    path = fetch(a_file(server.address + "/fine"), tmp_path / "cache", patience=IMPATIENT)
    assert path.read_bytes() == BODY
    assert f"{place}: not a regular file, so it was not read" in capsys.readouterr().err
    assert in_mirror(a_file()) is False


def test_mirror_file_is_copied_no_further_than_its_size(tmp_path, mirror_with):
    mirror_with(b"")
    with (tmp_path / "mirror/sub/thing.bin").open("rb+") as stream:
        stream.truncate(1 << 40)  # takes no room
    with pytest.raises(FetchError, match=f"thing.bin: wrong content: more than the {len(BODY)} "):
        fetch(replace(a_file(), size=len(BODY)), tmp_path / "cache", patience=IMPATIENT)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file that opens and cannot be read")
def test_mirror_file_that_cannot_be_read_is_passed_over(server, tmp_path, mirror_with):
    mirror_with(b"")
    place = tmp_path / "mirror/sub/thing.bin"
    place.unlink()
    place.symlink_to("/proc/self/mem")
    path = fetch(a_file(server.address + "/fine"), tmp_path / "cache", patience=IMPATIENT)
    assert path.read_bytes() == BODY
    with pytest.raises(
        FetchError, match=r"thing.bin: cannot be read from the mirror: Input/output"
    ):
        fetch(a_file(checksum="0" * 64), tmp_path / "cache", patience=IMPATIENT)


def test_second_fetch_asks_nobody_and_damage_is_repaired(server, tmp_path):
    file = a_file(server.address + "/fine")
    path = fetch(file, tmp_path, patience=IMPATIENT)
    fetch(file, tmp_path, patience=IMPATIENT)
    assert server.seen == ["/fine"]
    path.write_bytes(BODY[:-1])
    assert fetch(file, tmp_path, patience=IMPATIENT).read_bytes() == BODY
    assert server.seen == ["/fine", "/fine"]


def test_a_file_put_by_hand_is_accepted_if_right(tmp_path):
    (tmp_path / DIGEST).write_bytes(BODY)
    assert fetch(a_file(), tmp_path) == tmp_path / DIGEST
    (tmp_path / DIGEST).write_bytes(b"no")
    with pytest.raises(FetchError, match="damaged: its checksum is wrong"):
        fetch(a_file(), tmp_path)


def test_git_blob_is_verified(server, tmp_path):
    blob = hashlib.sha1(b"blob %d\0" % len(BODY) + BODY).hexdigest()
    file = File("r", "r", Checksum(blob, "git-blob"), (Url(server.address + "/fine"),))
    assert fetch(file, tmp_path, patience=IMPATIENT).name == f"git-blob-{blob}"
    wrong = File("r", "r", Checksum("0" * 40, "git-blob"), (Url(server.address + "/fine"),))
    with pytest.raises(FetchError, match=f"wrong content: .* git-blob {blob}"):
        fetch(wrong, tmp_path, patience=IMPATIENT)


def tarball(**members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, body in members.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return packed.getvalue()


PACKED = tarball(
    thing=BODY, other=b"other", **{"package.json": b'{"name": "tiny-data", "version": "1.0.0"}'}
)


def unpack(archive, directory):
    extract(archive, {"package/thing": "thing", "package/other": "other"}, directory, limit=10**7)


def in_bundle(origin, checksum=DIGEST, packed=PACKED):
    digest = Checksum(hashlib.sha256(packed).hexdigest())
    bundle = Bundle(File("tiny.tgz", "tiny.tgz", digest, (origin,)), unpack)
    return File("thing", "sub/thing", Checksum(checksum), (bundle,))


def test_archive_is_fetched_once_for_all_its_files(server, tmp_path):
    def packed(handler):
        handler.head(length=len(PACKED))
        handler.wfile.write(PACKED)

    server.routes["/tiny.tgz"] = packed
    origin = Url(server.address + "/tiny.tgz")
    other = hashlib.sha256(b"other").hexdigest()
    assert fetch(in_bundle(origin), tmp_path, patience=IMPATIENT).read_bytes() == BODY
    assert fetch(in_bundle(origin, other), tmp_path, patience=IMPATIENT).read_bytes() == b"other"
    assert server.seen == ["/tiny.tgz"]
    assert len(assert_only_verified(tmp_path)) == 2
    with pytest.raises(FetchError, match="no file in it has sha256 0000"):
        fetch(in_bundle(origin, "0" * 64), tmp_path, patience=IMPATIENT)


def test_failures_inside_a_bundle_are_named(server, tmp_path):
    with pytest.raises(FetchError, match=r"inside tiny.tgz: .*/gone: the server answered 404"):
        fetch(in_bundle(Url(server.address + "/gone")), tmp_path, patience=IMPATIENT)


def test_alternative_form_is_tried_last(server, tmp_path):
    raw = a_file(server.address + "/fine")
    file = File("t.gz", "t.gz", Checksum("0" * 64), (Url(server.address + "/gone"),))
    both = File(file.name, file.mirror, file.checksum, file.origins, alternative=raw)
    assert fetch(both, tmp_path, patience=IMPATIENT).name == DIGEST
    fetch(both, tmp_path, patience=IMPATIENT)
    assert server.seen == ["/gone", "/fine"]


@pytest.fixture
def registry(server, monkeypatch):
    """A package registry with one package, for the real npm client."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")

    def document(handler):
        integrity = base64.b64encode(hashlib.sha512(PACKED).digest()).decode()
        dist = {
            "tarball": f"{server.address}/tiny-data-1.0.0.tgz",
            "integrity": f"sha512-{integrity}",
        }
        version = {"name": "tiny-data", "version": "1.0.0", "dist": dist}
        body = json.dumps(
            {"name": "tiny-data", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
        ).encode()
        handler.head(length=len(body), **{"Content-Type": "application/json"})
        handler.wfile.write(body)

    def packed(handler):
        handler.head(length=len(PACKED))
        handler.wfile.write(PACKED)

    server.routes |= {"/tiny-data": document, "/tiny-data-1.0.0.tgz": packed}
    server.routes["/no-such-data"] = lambda handler: handler.send_error(404)
    monkeypatch.setenv("npm_config_registry", server.address + "/")
    return server


PATIENT = Patience(attempts=1)
IMPATIENT_NPM = Patience(attempts=2, pause=0.01)


def test_npm_package_yields_its_files(registry, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    file = in_bundle(NpmPackage("tiny-data@1.0.0"))
    assert fetch(file, Path(tmp_path.name), patience=PATIENT).read_bytes() == BODY
    assert len(assert_only_verified(tmp_path)) == 2


def test_npm_failures_are_named(registry, tmp_path):
    with pytest.raises(FetchError, match=r"npm package no-such-data@1.0.0: npm ended with .*404"):
        fetch(in_bundle(NpmPackage("no-such-data@1.0.0")), tmp_path, patience=PATIENT)
    with pytest.raises(FetchError, match=r"npm package tiny-data@1.0.0: wrong content"):
        fetch(in_bundle(NpmPackage("tiny-data@1.0.0"), packed=b""), tmp_path, patience=PATIENT)
    assert assert_only_verified(tmp_path) == []


def test_npm_asks_again_after_our_pause(registry, tmp_path):
    """Its own pause is ten seconds, then sixty."""
    registry.routes["/no-such-data"] = lambda handler: handler.send_error(503)
    started = time.monotonic()
    with pytest.raises(FetchError, match=r"npm ended with .*503"):
        fetch(in_bundle(NpmPackage("no-such-data@1.0.0")), tmp_path, patience=IMPATIENT_NPM)
    assert registry.seen == 2 * ["/no-such-data"]
    assert time.monotonic() - started < 10


def test_npm_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match="the npm client is not installed"):
        fetch(in_bundle(NpmPackage("tiny-data@1.0.0")), tmp_path)


FETCHER = """
import sys
from pathlib import Path
from workflow.data.checksums import Checksum
from workflow.data.errors import FetchError
from workflow.data.fetch import fetch
from workflow.data.sources import File, Url
address, cache, digest = sys.argv[1:]
file = File("thing.bin", "sub/thing.bin", Checksum(digest), (Url(address),), size=512_000)
try:
    print(fetch(file, Path(cache)))
except FetchError as error:
    sys.exit(str(error))
"""


def fetcher(address, cache, **options):
    command = [sys.executable, "-c", FETCHER, address, str(cache), DIGEST]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **options)


def test_two_processes_fetch_once(server, tmp_path):
    both = [fetcher(server.address + "/trickle", tmp_path) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=30)
        assert (out.strip(), process.returncode) == (str(tmp_path / DIGEST), 0), err
    assert server.seen == ["/trickle"]
    assert len(assert_only_verified(tmp_path)) == 1


def test_killed_fetch_is_run_again(server, tmp_path):
    partial = tmp_path / ".work" / f"{DIGEST}.partial"
    with fetcher(server.address + "/trickle", tmp_path) as process:
        while not (partial.exists() and partial.stat().st_size):
            assert process.poll() is None
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
    assert partial.exists()
    assert not (tmp_path / DIGEST).exists()
    file = a_file(server.address + "/fine")
    assert fetch(file, tmp_path, patience=IMPATIENT).read_bytes() == BODY
    assert len(assert_only_verified(tmp_path)) == 1


def assert_full(message, cache):
    assert "disk full" in message
    assert "thing.bin needs 512,000 bytes; free some space or set RNCA_CACHE" in message
    assert assert_only_verified(cache) == []


def test_full_disk_is_its_own_reason(server, tmp_path):
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        file = a_file(server.address + "/fine", server.address + "/moved")
        with pytest.raises(FetchError) as caught:
            fetch(file, tmp_path, patience=IMPATIENT)
        assert_full(str(caught.value), tmp_path)
        assert server.seen == ["/fine"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_file_size_limit_is_a_full_disk(server, tmp_path):
    limit = 256_000
    process = fetcher(
        server.address + "/fine",
        tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert_full(err, tmp_path)


def test_unwritable_cache_is_named(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the directory should be")
    with pytest.raises(FetchError, match="the cache cannot be written"):
        fetch(a_file(server.address + "/fine"), tmp_path / "cache", patience=IMPATIENT)


def test_cache_directory_by_environment(monkeypatch):
    monkeypatch.delenv("RNCA_CACHE", raising=False)
    assert default_cache() == Path("data/cache")
    monkeypatch.setenv("RNCA_CACHE", "elsewhere")
    assert default_cache() == Path("elsewhere")
