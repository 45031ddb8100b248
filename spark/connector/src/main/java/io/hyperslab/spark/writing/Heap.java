package io.hyperslab.spark.writing;

import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/** Variable-length values, numbered from 1. An element refers to its value by length and number. */
final class Heap {
  /** Any address except 0, which means an empty value. */
  private static final long ADDRESS = 1;

  final Bytes bytes = new Bytes();
  int[] ends = new int[256];
  int objects;

  /** Ends the current value of {@code count} items, and appends a reference to it to {@code out}. */
  void addReference(Bytes out, int count) {
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

  /** Appends a string. Returns false if it contains a NUL, at which HDF5 readers would truncate it. */
  boolean putText(UTF8String text, Bytes out) {
    boolean hasNoNul = bytes.put(text);
    addReference(out, text.numBytes());
    return hasNoNul;
  }

  void putAll(byte[] value, int length, int count, Bytes out) {
    bytes.put(value, length);
    addReference(out, count);
  }

  void clear() {
    bytes.length = 0;
    objects = 0;
  }
}
