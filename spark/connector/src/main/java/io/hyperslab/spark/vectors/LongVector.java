package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** Signed 64-bit integers. */
final class LongVector extends ArrowVector {
  private final long address;

  LongVector(long array, long base) {
    super(DataTypes.LongType, array, base);
    address = CData.arrayBuffer(array, 1) + 8L * this.base;
  }

  @Override
  public long getLong(int row) {
    return Platform.getLong(null, address + 8L * row);
  }

  @Override
  public long[] getLongs(int row, int count) {
    long[] values = new long[count];
    Platform.copyMemory(null, address + 8L * row, values, Platform.LONG_ARRAY_OFFSET, 8L * count);
    return values;
  }
}
