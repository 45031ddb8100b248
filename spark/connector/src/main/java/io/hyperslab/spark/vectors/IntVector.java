package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** Signed 32-bit integers. */
final class IntVector extends ArrowVector {
  private final long address;

  IntVector(long array, long base) {
    super(DataTypes.IntegerType, array, base);
    address = CData.arrayBuffer(array, 1) + 4L * this.base;
  }

  @Override
  public int getInt(int row) {
    return Platform.getInt(null, address + 4L * row);
  }

  @Override
  public int[] getInts(int row, int count) {
    int[] values = new int[count];
    Platform.copyMemory(null, address + 4L * row, values, Platform.INT_ARRAY_OFFSET, 4L * count);
    return values;
  }
}
