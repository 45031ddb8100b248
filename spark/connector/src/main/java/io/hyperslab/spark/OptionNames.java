package io.hyperslab.spark;

import io.hyperslab.InvalidInputException;
import io.hyperslab.NativeNames;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/** The names of options. Others are errors, because a misspelled option would silently have no effect. */
public final class OptionNames {
  private final String[] names;
  private final Set<String> lower;

  /** @param names the names as they are documented */
  public OptionNames(String... names) {
    this.names = names;
    lower =
        Arrays.stream(names).map(name -> name.toLowerCase(Locale.ROOT)).collect(Collectors.toSet());
  }

  /** Whether a name, in lower case, is one of these. */
  public boolean contains(String name) {
    return lower.contains(name);
  }

  /** The error for a name that is none of these. */
  public InvalidInputException unknown(String name) {
    return new InvalidInputException("unknown option \"" + name + "\""
        + NativeNames.suggestion(name, names) + "; the options are: " + String.join(", ", names));
  }
}
