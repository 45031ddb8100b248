package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** Unsigned 32-bit integers, read as longs. */
final class UnsignedIntVector extends ArrowVector {
  private final long address;

  UnsignedIntVector(long array, long base) {
    super(DataTypes.LongType, array, base);
    address = CData.arrayBuffer(array, 1) + 4L * this.base;
  }

  @Override
  public long getLong(int row) {
    return Platform.getInt(null, address + 4L * row) & 0xffffffffL;
  }
}
