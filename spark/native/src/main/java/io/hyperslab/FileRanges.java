package io.hyperslab;

/** An open file whose bytes Java reads. Any number of threads read at the same time. */
public interface FileRanges extends AutoCloseable {
  /** Returns the version that was opened. */
  FileVersion version();

  /**
   * Reads ranges of the version that was opened, which are sorted and do not overlap.
   *
   * @param offsets offset of each range in bytes
   * @param lengths length of each range in bytes
   * @return the bytes of each range
   * @throws ConflictException if the file is another version by now
   * @throws HyperslabException if the file cannot be read
   */
  byte[][] read(long[] offsets, int[] lengths);

  /** Closes the file. No thread reads any more. */
  @Override
  void close();
}
