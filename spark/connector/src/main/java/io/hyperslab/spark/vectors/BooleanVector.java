package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;

/** Booleans, stored as bits. */
final class BooleanVector extends ArrowVector {
  private final long address;

  BooleanVector(long array, long base) {
    super(DataTypes.BooleanType, array, base);
    address = CData.arrayBuffer(array, 1);
  }

  @Override
  public boolean getBoolean(int row) {
    return bit(address, base + row);
  }
}
