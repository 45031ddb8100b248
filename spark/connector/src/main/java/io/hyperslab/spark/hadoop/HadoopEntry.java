package io.hyperslab.spark.hadoop;

import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/** A file or folder of a Hadoop file system, as it was listed. */
public final class HadoopEntry {
  /** Address with scheme, such as {@code hdfs://host/a.h5}. */
  public final String address;
  /** The last part of the path; empty for the root. */
  public final String name;
  /** Whether it is a folder. */
  public final boolean isFolder;
  /** Length in bytes. */
  public final long length;
  /** Time of the last modification in milliseconds since 1970. */
  public final long modified;

  HadoopEntry(FileStatus status) {
    address = address(status.getPath());
    name = status.getPath().getName();
    isFolder = status.isDirectory();
    length = status.getLen();
    modified = status.getModificationTime();
  }

  /** The address of a path that has a scheme: always with {@code ://}, also without an authority. */
  static String address(Path path) {
    String scheme = path.toUri().getScheme();
    String authority = path.toUri().getAuthority();
    return scheme + "://" + (authority == null ? "" : authority) + path.toUri().getPath();
  }
}
