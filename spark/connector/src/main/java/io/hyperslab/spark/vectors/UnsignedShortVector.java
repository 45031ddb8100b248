package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** Unsigned 16-bit integers, read as ints. */
final class UnsignedShortVector extends ArrowVector {
  private final long address;

  UnsignedShortVector(long array, long base) {
    super(DataTypes.IntegerType, array, base);
    address = CData.arrayBuffer(array, 1) + 2L * this.base;
  }

  @Override
  public int getInt(int row) {
    return Platform.getShort(null, address + 2L * row) & 0xffff;
  }
}
