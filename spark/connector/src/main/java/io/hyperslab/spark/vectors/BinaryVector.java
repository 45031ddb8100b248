package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** Variable-length binary values with 32-bit offsets. */
final class BinaryVector extends ArrowVector {
  private final long offsets;
  private final long bytes;

  BinaryVector(long array, long base) {
    super(DataTypes.BinaryType, array, base);
    offsets = CData.arrayBuffer(array, 1) + 4L * this.base;
    bytes = CData.arrayBuffer(array, 2);
  }

  @Override
  public byte[] getBinary(int row) {
    int start = Platform.getInt(null, offsets + 4L * row);
    byte[] value = new byte[Platform.getInt(null, offsets + 4L * row + 4) - start];
    Platform.copyMemory(null, bytes + start, value, Platform.BYTE_ARRAY_OFFSET, value.length);
    return value;
  }
}
