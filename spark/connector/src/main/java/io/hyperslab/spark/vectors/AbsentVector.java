package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A column that a file has not: null in every row. Values are never asked for, so they are anything. */
final class AbsentVector extends ColumnVector {
  private final int rows;

  AbsentVector(DataType type, int rows) {
    super(type);
    this.rows = rows;
  }

  @Override
  public void close() {}

  @Override
  public boolean hasNull() {
    return rows > 0;
  }

  @Override
  public int numNulls() {
    return rows;
  }

  @Override
  public boolean isNullAt(int row) {
    return true;
  }

  @Override
  public boolean getBoolean(int row) {
    return false;
  }

  @Override
  public byte getByte(int row) {
    return 0;
  }

  @Override
  public short getShort(int row) {
    return 0;
  }

  @Override
  public int getInt(int row) {
    return 0;
  }

  @Override
  public long getLong(int row) {
    return 0;
  }

  @Override
  public float getFloat(int row) {
    return 0;
  }

  @Override
  public double getDouble(int row) {
    return 0;
  }

  @Override
  public ColumnarArray getArray(int row) {
    return null;
  }

  @Override
  public ColumnarMap getMap(int row) {
    return null;
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    return null;
  }

  @Override
  public UTF8String getUTF8String(int row) {
    return null;
  }

  @Override
  public byte[] getBinary(int row) {
    return null;
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return this;
  }
}
