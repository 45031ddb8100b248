package io.hyperslab;

/** Thrown if Spark killed the task or the caller cancelled the operation. */
public final class CancelledException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception with a location.
   *
   * @param reason what was found, what was expected and what to do
   * @param file path of the file, or null if unknown
   * @param object path of the object in the file, or null if unknown
   * @param offset byte offset in the file, or null if unknown
   */
  public CancelledException(String reason, String file, String object, Long offset) {
    super("Cancelled", reason, file, object, offset);
  }

  /**
   * Creates an exception without a location.
   *
   * @param reason what was found, what was expected and what to do
   */
  public CancelledException(String reason) {
    this(reason, null, null, null);
  }
}
