package io.hyperslab;

/** Thrown for an invalid request: an unknown option, a malformed predicate, or files that do not form one table. */
public final class InvalidInputException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception with a location.
   *
   * @param reason what was found, what was expected and what to do
   * @param file path of the file, or null if unknown
   * @param object path of the object in the file, or null if unknown
   * @param offset byte offset in the file, or null if unknown
   */
  public InvalidInputException(String reason, String file, String object, Long offset) {
    super("InvalidInput", reason, file, object, offset);
  }

  /**
   * Creates an exception without a location.
   *
   * @param reason what was found, what was expected and what to do
   */
  public InvalidInputException(String reason) {
    this(reason, null, null, null);
  }
}
