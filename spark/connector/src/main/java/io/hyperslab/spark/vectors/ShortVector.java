package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** Signed 16-bit integers. */
final class ShortVector extends ArrowVector {
  private final long address;

  ShortVector(long array, long base) {
    super(DataTypes.ShortType, array, base);
    address = CData.arrayBuffer(array, 1) + 2L * this.base;
  }

  @Override
  public short getShort(int row) {
    return Platform.getShort(null, address + 2L * row);
  }

  @Override
  public short[] getShorts(int row, int count) {
    short[] values = new short[count];
    Platform.copyMemory(null, address + 2L * row, values, Platform.SHORT_ARRAY_OFFSET, 2L * count);
    return values;
  }
}
