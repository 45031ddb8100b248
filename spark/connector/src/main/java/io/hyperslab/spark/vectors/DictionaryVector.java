package io.hyperslab.spark.vectors;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Texts by number, which is what enumerations are. */
final class DictionaryVector extends ArrowVector {
  private final long numbers;
  private final StringVector texts;

  DictionaryVector(long array, long base) {
    super(DataTypes.StringType, array, base);
    numbers = CData.arrayBuffer(array, 1) + 4L * this.base;
    texts = new StringVector(CData.arrayDictionary(array), 0);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    return texts.getUTF8String(Platform.getInt(null, numbers + 4L * row));
  }
}
