"""The Llama explorer: a real Llama, traced, shown and explained.

Idle OpenMP threads must sleep instead of spinning (a busy neighbour otherwise costs a factor of ten), and the allocator
must not keep an arena for every thread. Both are read once, when torch is loaded, so they are set before anything else.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("MALLOC_ARENA_MAX", "2")
