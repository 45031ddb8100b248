package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** 32-bit floats. */
final class FloatVector extends ArrowVector {
  private final long address;

  FloatVector(long array, long base) {
    super(DataTypes.FloatType, array, base);
    address = CData.arrayBuffer(array, 1) + 4L * this.base;
  }

  @Override
  public float getFloat(int row) {
    return Platform.getFloat(null, address + 4L * row);
  }

  @Override
  public float[] getFloats(int row, int count) {
    float[] values = new float[count];
    Platform.copyMemory(null, address + 4L * row, values, Platform.FLOAT_ARRAY_OFFSET, 4L * count);
    return values;
  }
}
