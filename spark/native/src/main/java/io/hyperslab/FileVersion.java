package io.hyperslab;

import java.util.Objects;

/** The version of a file that a {@link FileOpener} knows. Two openings with equal versions have the same bytes. */
public final class FileVersion {
  /** Length in bytes. */
  public final long length;
  /** Time of the last modification in milliseconds since 1970; 0 if unknown. */
  public final long modifiedMilliseconds;
  /** The entity tag (ETag), or null. */
  public final String tag;

  /**
   * @param length length in bytes
   * @param modifiedMilliseconds time of the last modification in milliseconds since 1970; 0 if unknown
   * @param tag the entity tag, or null
   */
  public FileVersion(long length, long modifiedMilliseconds, String tag) {
    this.length = length;
    this.modifiedMilliseconds = modifiedMilliseconds;
    this.tag = tag;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FileVersion
        && length == ((FileVersion) other).length
        && modifiedMilliseconds == ((FileVersion) other).modifiedMilliseconds
        && Objects.equals(tag, ((FileVersion) other).tag);
  }

  @Override
  public int hashCode() {
    return Objects.hash(length, modifiedMilliseconds, tag);
  }

  @Override
  public String toString() {
    return length + " bytes of " + modifiedMilliseconds + (tag == null ? "" : " with tag " + tag);
  }
}
