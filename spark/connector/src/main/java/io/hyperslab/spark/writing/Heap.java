package io.hyperslab.spark.writing;

import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/** Values of variable length, numbered from 1 on. An element names its value by length and number. */
final class Heap {
  /** Any but 0, which stands for no value. */
  private static final long ADDRESS = 1;

  final Bytes bytes = new Bytes();
  int[] ends = new int[256];
  int objects;

  /** Points the next element of {@code out} at what was just put into {@link #bytes}, of {@code count} items. */
  void refer(Bytes out, int count) {
    out.putInt(count);
    if (count == 0) {
      out.putLong(0);
      out.putInt(0);
      return;
    }
    if (objects == ends.length) {
      ends = Arrays.copyOf(ends, 2 * ends.length);
    }
    ends[objects++] = bytes.length;
    out.putLong(ADDRESS);
    out.putInt(objects);
  }

  /** False if the text contains a NUL, at which HDF5's readers would end it. */
  boolean putText(UTF8String text, Bytes out) {
    boolean whole = bytes.put(text);
    refer(out, text.numBytes());
    return whole;
  }

  void putAll(byte[] value, int length, int count, Bytes out) {
    bytes.put(value, length);
    refer(out, count);
  }

  void clear() {
    bytes.length = 0;
    objects = 0;
  }
}
