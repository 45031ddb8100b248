package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;

/** Lists of one length: array members, and the rows layout. */
final class FixedListVector extends ArrowVector {
  private final int size;
  private final ColumnVector items;

  /** @param items the items of all rows, row 0 of this vector being its first list */
  FixedListVector(ArrayType type, long array, long base, int size, ColumnVector items) {
    super(type, array, base);
    this.size = size;
    this.items = items;
  }

  @Override
  public ColumnarArray getArray(int row) {
    return new ColumnarArray(items, Math.multiplyExact(row, size), size);
  }
}
