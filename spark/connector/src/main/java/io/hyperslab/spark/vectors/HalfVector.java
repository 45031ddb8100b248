package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** IEEE 16-bit floats, read as 32-bit floats. */
final class HalfVector extends ArrowVector {
  private final long address;

  HalfVector(long array, long base) {
    super(DataTypes.FloatType, array, base);
    address = CData.arrayBuffer(array, 1) + 2L * this.base;
  }

  @Override
  public float getFloat(int row) {
    return widened(Platform.getShort(null, address + 2L * row) & 0xffff);
  }

  /** Converts a 16-bit float to 32 bits, exactly and with NaN payloads. */
  static float widened(int half) {
    int sign = (half & 0x8000) << 16;
    int exponent = half >> 10 & 0x1f;
    int fraction = half & 0x3ff;
    if (exponent == 0) {
      // Zero and subnormals: fraction / 2^24.
      float magnitude = fraction * 0x1p-24f;
      return sign == 0 ? magnitude : -magnitude;
    }
    int wide = exponent == 0x1f ? 0xff : exponent - 15 + 127;
    return Float.intBitsToFloat(sign | wide << 23 | fraction << 13);
  }
}
