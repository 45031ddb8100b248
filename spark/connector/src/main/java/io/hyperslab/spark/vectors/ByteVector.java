package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;

/** Signed 8-bit integers. */
final class ByteVector extends ArrowVector {
  private final long address;

  ByteVector(long array, long base) {
    super(DataTypes.ByteType, array, base);
    address = CData.arrayBuffer(array, 1) + 1L * this.base;
  }

  @Override
  public byte getByte(int row) {
    return Platform.getByte(null, address + row);
  }

  @Override
  public byte[] getBytes(int row, int count) {
    byte[] values = new byte[count];
    Platform.copyMemory(null, address + 1L * row, values, Platform.BYTE_ARRAY_OFFSET, 1L * count);
    return values;
  }
}
