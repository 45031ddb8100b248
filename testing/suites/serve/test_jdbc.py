"""The server by Apache's JDBC driver of Flight SQL, as DBeaver uses it."""

from __future__ import annotations

import glob
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import TOKEN, Served

JARS = glob.glob(os.environ.get("HYPERSLAB_JDBC", "") + "/*.jar")
pytestmark = pytest.mark.skipif(not JARS or shutil.which("java") is None, reason="the JDBC driver or Java is missing")
CLIENT = pathlib.Path(__file__).parent / "Client.java"


def run(url: str, *properties: str) -> list[str]:
    """The lines of the client."""
    command = ["java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-Dstdout.encoding=UTF-8", "-cp", ":".join(JARS), str(CLIENT), url, *properties]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


EXPECTED = [
    'product Hyperslab readonly true quote "',
    "catalogs | hyperslab",
    "schemas | numbers.h5 hyperslab",
    "types | TABLE",
    "columns | dim_0 -5 BIGINT | x -5 BIGINT",
    "query | 0 0 | 1 1 | 2 2",
    "count | 100000",
    "values | 1 2.5 ä true 2026-01-02 2026-01-02 03:04:05.0 null",
    "all 100000 4999950000",
    "prepared | 10 9",
    "prepared | 10 19",
    "prepared | 10 29",
    "others | true 10 true",
    "cancelled early",
    "right 200",
]


def test_what_tools_do(served: Served) -> None:
    lines = run(f"jdbc:arrow-flight-sql://127.0.0.1:{served.port}/?useEncryption=false", "token", TOKEN)
    assert [line for line in EXPECTED if line not in lines] == []
    (tables,) = (line for line in lines if line.startswith("tables "))
    assert " hyperslab numbers.h5 deep/words TABLE " in tables and " hyperslab numbers.h5 x TABLE " in tables
    errors = [line for line in lines if line.startswith("error ")]
    for error, said in zip(errors, ("syntax error", "read-only", "no file 'nofile'", "read_text is not available"), strict=True):
        assert said in error


def test_tls_and_a_password(secured: Served, tmp_path: pathlib.Path) -> None:
    store = tmp_path / "trusted.jks"
    words = ["keytool", "-importcert", "-noprompt", "-alias", "server", "-file", str(secured.certificate), "-keystore", str(store), "-storepass", "changeit"]
    subprocess.run(words, check=True, capture_output=True)
    url = f"jdbc:arrow-flight-sql://localhost:{secured.port}/?useEncryption=true"
    trusted = ["useSystemTrustStore", "false", "trustStore", str(store), "trustStorePassword", "changeit"]
    assert "right 200" in run(url, "user", "me", "password", TOKEN, *trusted)
    with pytest.raises(AssertionError, match="token is missing or wrong"):
        run(url, "user", "me", "password", "wrong", *trusted)
