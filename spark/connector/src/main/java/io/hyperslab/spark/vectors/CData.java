package io.hyperslab.spark.vectors;

import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.Platform;

/**
 * Reads the structures {@code ArrowSchema} and {@code ArrowArray} of the
 * <a href="https://arrow.apache.org/docs/format/CDataInterface.html">Arrow C Data interface</a> in native memory. Offsets
 * are as on 64-bit machines.
 */
final class CData {
  private CData() {}

  private static long word(long structure, int index) {
    return Platform.getLong(null, structure + 8L * index);
  }

  static String text(long address) {
    int length = 0;
    while (Platform.getByte(null, address + length) != 0) {
      length++;
    }
    byte[] bytes = new byte[length];
    Platform.copyMemory(null, address, bytes, Platform.BYTE_ARRAY_OFFSET, length);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  static String schemaFormat(long schema) {
    return text(word(schema, 0));
  }

  static String schemaName(long schema) {
    return text(word(schema, 1));
  }

  static int schemaChildren(long schema) {
    return Math.toIntExact(word(schema, 4));
  }

  static long schemaChild(long schema, int index) {
    return word(word(schema, 5), index);
  }

  /** Address of the schema of a dictionary's values; 0 if the type is not a dictionary. */
  static long schemaDictionary(long schema) {
    return word(schema, 6);
  }

  static long arrayLength(long array) {
    return word(array, 0);
  }

  static long arrayNulls(long array) {
    return word(array, 1);
  }

  static long arrayOffset(long array) {
    return word(array, 2);
  }

  static long arrayBuffer(long array, int index) {
    return word(word(array, 5), index);
  }

  static long arrayChild(long array, int index) {
    return word(word(array, 6), index);
  }

  static long arrayDictionary(long array) {
    return word(array, 7);
  }
}
