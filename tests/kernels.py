"""Run the numerical tests under every OpenBLAS kernel that this CPU executes: `make test-kernels`.

One setting changes at a time, from this machine's defaults with one BLAS thread: the kernel, the
number of threads, or the SIMD instructions that numpy uses. Arguments are passed to pytest.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
FILES = [
    TESTS / "rnca",
    *(
        TESTS / "workflow" / f"{name}.py"
        for name in (
            "lib/test_exact",
            "stages/bounds/test_norms",
            "stages/lupi/test_svm",
            "stages/rcca/test_dcca",
            "stages/rcca/test_fits",
            "stages/rpca/test_rpca_stage",
        )
    ),
]
# Tests of memory, files and interfaces, to which the kernel makes no difference.
LEFT_OUT = "scikit_learn_checks or was_killed or damaged or memory_does or never_holds"
KERNELS = "Prescott Nehalem Sandybridge Haswell Zen SkylakeX Cooperlake SapphireRapids"
# Calls many routines of numpy's and of scipy's OpenBLAS; prints the kernels and features in use.
PROBE = """
import json, numpy as np, scipy.linalg
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from threadpoolctl import threadpool_info
for dtype in "fd":
    for order in (3, 40, 500):
        A = np.random.default_rng(0).normal(size=(order, order)).astype(dtype)
        C = A @ A.T + order * np.eye(order, dtype=dtype)
        for module in (np.linalg, scipy.linalg):
            module.cholesky(C), module.eigh(C), module.svd(A), module.qr(A), module.solve(C, A[0])
kernels = sorted({pool["architecture"] for pool in threadpool_info() if "architecture" in pool})
print(json.dumps(["+".join(kernels), [f for f in __cpu_dispatch__ if __cpu_features__[f]]]))
"""


def python(changed, *arguments):
    """Run Python under a changed environment; return why it failed, if so, and what it printed."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"} | changed
    ran = subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.PIPE)
    code = ran.returncode
    failure = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return failure if code else None, ran.stdout.decode()


def settings():
    """Yield kernel, threads, numpy's SIMD, changes of the environment, and a reason to skip."""
    default, simd = json.loads(python({}, "-c", PROBE)[1])
    yield default, 1, "all", {}, None
    seen = {default}
    for name in KERNELS.split():
        failure, printed = python(changed := {"OPENBLAS_CORETYPE": name}, "-c", PROBE)
        kernel = name if failure else json.loads(printed)[0]
        if name not in seen:
            taken = kernel in seen and f"OpenBLAS takes {kernel}"
            yield name, 1, "all", changed, failure or taken
        seen.add(kernel)
    yield default, 2, "all", {"OPENBLAS_NUM_THREADS": "2"}, None
    wide = [name for name in simd if "512" in name or name == "X86_V4"]
    for label, off in (("at most 256 bits", wide), ("baseline", simd)):
        left = python(changed := {"NPY_DISABLE_CPU_FEATURES": " ".join(off)}, "-c", PROBE)[1]
        possible = off and not {*off} & {*json.loads(left)[1]}
        yield default, 1, label, changed, None if possible else "numpy has no such choice here"


def main():
    """Print a table with a row for each setting; return whether any test failed."""
    options = ["-qk", f"not ({LEFT_OUT})", *sys.argv[1:]]
    table = [f"{'kernel':14} {'threads':7}  {'numpy SIMD':16}  result"]
    for kernel, threads, simd, changed, skipped in settings():
        command = ["-m", "pytest", *options, *FILES]
        failure, printed = (None, "") if skipped else python(changed, *command)
        summary = f"skipped: {skipped}" if skipped else "".join(printed.splitlines()[-1:])
        summary = f"FAILED ({failure}): {summary}" if failure else summary
        table.append(f"{kernel:14} {threads:7}  {simd:16}  {summary}")
        print(printed if failure else table[-1], flush=True)
    print("", *table, sep="\n")
    return any("FAILED" in line for line in table)


if __name__ == "__main__":
    sys.exit(main())
