package io.hyperslab;

/**
 * Opens files at addresses, such as {@code hdfs://host/a.h5}, by a file system of Java. The native library calls it from
 * threads of its own.
 */
public interface FileOpener {
  /**
   * Opens a file.
   *
   * @param address address of the file
   * @throws NotFoundException if there is no such file
   * @throws HyperslabException if it cannot be opened
   */
  FileRanges open(String address);

  /**
   * Returns the version that a file has now.
   *
   * @param address address of the file
   * @throws NotFoundException if there is no such file
   * @throws HyperslabException if the file system does not say
   */
  FileVersion version(String address);
}
