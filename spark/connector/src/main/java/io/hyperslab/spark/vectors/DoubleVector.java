package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** 64-bit floats. */
final class DoubleVector extends ArrowVector {
  private final long address;

  DoubleVector(long array, long base) {
    super(DataTypes.DoubleType, array, base);
    address = CData.arrayBuffer(array, 1) + 8L * this.base;
  }

  @Override
  public double getDouble(int row) {
    return Platform.getDouble(null, address + 8L * row);
  }

  @Override
  public double[] getDoubles(int row, int count) {
    double[] values = new double[count];
    Platform.copyMemory(null, address + 8L * row, values, Platform.DOUBLE_ARRAY_OFFSET, 8L * count);
    return values;
  }
}
