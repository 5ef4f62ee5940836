"""Put empty shells in place of the CUDA libraries that torch is linked with.

Without a GPU nothing in them is ever called, but the loader wants every library and every symbol to be there. One small
library that defines all the symbols, under each of the names, satisfies it. The few functions that torch calls while it
loads, or to ask whether there is a GPU, answer that there is none; any other ends the process and says why.

Usage: slim_torch.py SITE_PACKAGES    (needs gcc and objdump)
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CUDA_LIBRARY = re.compile(r"lib(cu|nv|nccl)")
CUDA_SYMBOL = re.compile(r"_*(cu[a-z]*[A-Z]|cuda|nccl|nvshmem|nvrtc|nvJit|nvtx|cupti)")
CALLED_WHILE_LOADING = re.compile(
    r"__cuda(Register|Unregister|InitModule)|cudaGetDeviceCount|cudaGetLastError|cuda.*Version"
)
NO_DEVICE = 100  # cudaErrorNoDevice


def objdump(option: str, library: Path) -> list[str]:
    """The lines objdump prints about a library."""
    done = subprocess.run(["objdump", option, str(library)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def symbols(library: Path, *, missing: bool) -> set[str]:
    """The dynamic symbols that a library wants from others, or has itself."""
    entries = [line for line in objdump("-T", library) if re.match(r"[0-9a-f]{8}", line)]
    return {line.split()[-1] for line in entries if ("*UND*" in line) == missing}


def needed(library: Path) -> set[str]:
    """The libraries that a library wants to be loaded with it."""
    return {line.split()[1] for line in objdump("-p", library) if line.strip().startswith("NEEDED")}


def shell(wanted: set[str]) -> str:
    """The source of a library that has all the wanted symbols."""
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "static char handle[64];"]
    for name in sorted(wanted):
        if not CALLED_WHILE_LOADING.match(name):
            words = f"{name} was called, but CUDA was taken out of this torch; use it on CPUs only\\n"
            lines.append(f'void *{name}() {{ fputs("{words}", stderr); abort(); }}')
        elif name == "cudaGetDeviceCount":
            lines.append(f"long {name}() {{ return {NO_DEVICE}; }}")
        else:
            answer = "handle" if "FatBinary" in name else "0"
            lines.append(f"void *{name}() {{ return {answer}; }}")
    return "\n".join(lines)


def main(packages: Path) -> None:
    """Slim the torch in a folder of packages."""
    torch = packages / "torch"
    own = [path for path in [*(torch / "lib").glob("*.so*"), *torch.glob("_C*.so")] if path.is_file()]
    present = {path.name for path in own} | {"libcuda.so.1"}  # the driver's own, which torch looks for by itself
    absent = {name for path in own for name in needed(path) if CUDA_LIBRARY.match(name)} - present
    wanted = {name for path in own for name in symbols(path, missing=True) if CUDA_SYMBOL.match(name)}
    wanted -= {name for path in own for name in symbols(path, missing=False)}
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "shell.c"), Path(folder, "shell.so")
        source.write_text(shell(wanted))
        subprocess.run(["gcc", "-w", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
        for name in absent:
            shutil.copy(library, torch / "lib" / name)
    for unused in ("nvidia", "triton"):
        shutil.rmtree(packages / unused, ignore_errors=True)
    print(f"{len(absent)} libraries with {len(wanted)} symbols replaced")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
