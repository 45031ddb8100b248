package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** Fixed-length binary values. */
final class FixedBinaryVector extends ArrowVector {
  private final long bytes;
  private final int size;

  FixedBinaryVector(long array, long base, int size) {
    super(DataTypes.BinaryType, array, base);
    this.size = size;
    bytes = CData.arrayBuffer(array, 1) + size * this.base;
  }

  @Override
  public byte[] getBinary(int row) {
    byte[] value = new byte[size];
    Platform.copyMemory(null, bytes + (long) size * row, value, Platform.BYTE_ARRAY_OFFSET, size);
    return value;
  }
}
