package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Dictionary-encoded strings with 32-bit indexes: the form of enumerations. */
final class DictionaryVector extends ArrowVector {
  private final long indexes;
  private final StringVector values;

  DictionaryVector(long array, long base) {
    super(DataTypes.StringType, array, base);
    indexes = CData.arrayBuffer(array, 1) + 4L * this.base;
    values = new StringVector(CData.arrayDictionary(array), 0);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    return values.getUTF8String(Platform.getInt(null, indexes + 4L * row));
  }
}
