package io.hyperslab;

/** Thrown if a file exceeds one of the limits on memory, object counts and nesting. */
public final class LimitExceededException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception with a location.
   *
   * @param reason what was found, what was expected and what to do
   * @param file path of the file, or null if unknown
   * @param object path of the object in the file, or null if unknown
   * @param offset byte offset in the file, or null if unknown
   */
  public LimitExceededException(String reason, String file, String object, Long offset) {
    super("LimitExceeded", reason, file, object, offset);
  }

  /**
   * Creates an exception without a location.
   *
   * @param reason what was found, what was expected and what to do
   */
  public LimitExceededException(String reason) {
    this(reason, null, null, null);
  }
}
