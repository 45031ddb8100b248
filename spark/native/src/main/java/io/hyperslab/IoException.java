package io.hyperslab;

/** Thrown if the operating system reports an error. */
public final class IoException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception with a location.
   *
   * @param reason what was found, what was expected and what to do
   * @param file path of the file, or null if unknown
   * @param object path of the object in the file, or null if unknown
   * @param offset byte offset in the file, or null if unknown
   */
  public IoException(String reason, String file, String object, Long offset) {
    super("Io", reason, file, object, offset);
  }

  /**
   * Creates an exception without a location.
   *
   * @param reason what was found, what was expected and what to do
   */
  public IoException(String reason) {
    this(reason, null, null, null);
  }
}
