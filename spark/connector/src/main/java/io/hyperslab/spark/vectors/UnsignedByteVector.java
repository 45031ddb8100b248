package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** Unsigned 8-bit integers, read as shorts. */
final class UnsignedByteVector extends ArrowVector {
  private final long address;

  UnsignedByteVector(long array, long base) {
    super(DataTypes.ShortType, array, base);
    address = CData.arrayBuffer(array, 1) + 1L * this.base;
  }

  @Override
  public short getShort(int row) {
    return (short) (Platform.getByte(null, address + row) & 0xff);
  }
}
