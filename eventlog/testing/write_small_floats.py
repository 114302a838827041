"""Prints what ml_dtypes says each byte of a small float is: "TYPE BYTE VALUE" a line.

    python3 write_small_floats.py > golden/small_floats.txt        (needs numpy, ml_dtypes)
"""

import ml_dtypes
import numpy

TYPES = ("float4_e2m1fn float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
         "float8_e5m2fnuz int2 int4 uint2 uint4")

for name in TYPES.split():
    bits = {"float4_e2m1fn": 16, "int2": 4, "uint2": 4, "int4": 16, "uint4": 16}.get(name, 256)
    data = numpy.arange(bits, dtype=numpy.uint8).view(getattr(ml_dtypes, name))
    for byte, value in enumerate(data):
        print(name, byte, float(value).hex() if "float" in name else int(value))
