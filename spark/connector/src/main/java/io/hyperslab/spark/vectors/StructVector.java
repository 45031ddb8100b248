package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Structs, with a vector for each member. */
final class StructVector extends ArrowVector {
  private final ArrowVector[] members;

  StructVector(StructType type, long array, long base, ArrowVector[] members) {
    super(type, array, base);
    this.members = members;
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return members[ordinal];
  }
}
