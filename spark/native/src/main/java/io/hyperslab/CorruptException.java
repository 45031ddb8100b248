package io.hyperslab;

/** Thrown if the bytes of a file contradict the specification of its format. */
public final class CorruptException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception with a location.
   *
   * @param reason what was found, what was expected and what to do
   * @param file path of the file, or null if unknown
   * @param object path of the object in the file, or null if unknown
   * @param offset byte offset in the file, or null if unknown
   */
  public CorruptException(String reason, String file, String object, Long offset) {
    super("Corrupt", reason, file, object, offset);
  }

  /**
   * Creates an exception without a location.
   *
   * @param reason what was found, what was expected and what to do
   */
  public CorruptException(String reason) {
    this(reason, null, null, null);
  }
}
