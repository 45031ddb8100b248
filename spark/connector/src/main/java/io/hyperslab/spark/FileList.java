package io.hyperslab.spark;

import io.hyperslab.HyperslabException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.IoException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * Parses a text or CSV file with a line {@code file,dataset} or {@code file} for each input. Names are relative to the
 * list's folder. Empty lines and lines that begin with # are ignored, and so is a header line {@code file,dataset}. A name
 * with a comma must be in double quotes.
 */
final class FileList {
  /** Number of bytes at the beginning of a file that are searched for the first line of a list. */
  static final int PREFIX_BYTES = 8192;

  private FileList() {}

  /** Whether a file is a list: by its suffix, or without a suffix, if its first line names an existing file. */
  static boolean isList(Path path) {
    String name = path.getFileName() == null
        ? ""
        : path.getFileName().toString().toLowerCase(java.util.Locale.ROOT);
    if (!java.nio.file.Files.isRegularFile(path)) {
      return false;
    }
    return hasSuffix(name) || (name.indexOf('.') < 0 && beginsWithFileName(path));
  }

  /** Whether a name, in lower case, is the name of a list. */
  static boolean hasSuffix(String name) {
    return name.endsWith(".csv") || name.endsWith(".txt");
  }

  private static boolean beginsWithFileName(Path path) {
    byte[] start = new byte[PREFIX_BYTES];
    int length = 0;
    try (InputStream stream = java.nio.file.Files.newInputStream(path)) {
      for (int more = 0;
          more >= 0 && length < start.length;
          more = stream.read(start, length, start.length - length)) {
        length += more;
      }
    } catch (IOException error) {
      // The reader reports why the file cannot be opened.
      return false;
    }
    return beginsWithFileName(
        Arrays.copyOf(start, length),
        file -> java.nio.file.Files.exists(Files.local(resolved(path, file))));
  }

  /** Whether the first line in the first bytes of a file names an existing file. */
  static boolean beginsWithFileName(byte[] start, Predicate<String> exists) {
    String text = new String(start, StandardCharsets.UTF_8);
    if (text.indexOf('\0') >= 0) {
      return false;
    }
    for (String line : text.split("\n", -1)) {
      List<String> fields = isIgnored(line.trim(), true) ? null : fields(line.trim());
      if (fields != null) {
        try {
          return !fields.get(0).isEmpty() && exists.test(fields.get(0));
        } catch (InvalidPathException | HyperslabException error) {
          return false;
        }
      }
    }
    return false;
  }

  private static boolean isIgnored(String line, boolean first) {
    return line.isEmpty()
        || line.startsWith("#")
        || (first && line.replace(" ", "").matches("(?i)file(,dataset)?"));
  }

  private static String resolved(Path list, String file) {
    return Files.hasScheme(file) ? file : list.resolveSibling(file).toString();
  }

  /** The inputs of the list, with relative names resolved. */
  static List<GivenPath> read(Path list) {
    List<String> texts;
    try {
      texts = java.nio.file.Files.readAllLines(list, StandardCharsets.UTF_8);
    } catch (IOException error) {
      throw new IoException(
          "the list cannot be read as UTF-8 text: " + error.getMessage(),
          list.toString(),
          null,
          null);
    }
    return parsed(list.toString(), texts, file -> resolved(list, file));
  }

  /**
   * The inputs that lines name.
   *
   * @param list the list, for messages
   * @param resolved the path or address of a name
   */
  static List<GivenPath> parsed(String list, List<String> texts, UnaryOperator<String> resolved) {
    List<GivenPath> lines = new ArrayList<>();
    for (int i = 0; i < texts.size(); i++) {
      String text = texts.get(i).trim();
      if (isIgnored(text, i == 0)) {
        continue;
      }
      List<String> fields = fields(text);
      if (fields == null || fields.size() > 2 || fields.get(0).isEmpty()) {
        throw new InvalidInputException("line " + (i + 1) + " of the list " + list
            + " must be file,dataset or file, not \"" + text + "\"");
      }
      String dataset = fields.size() == 2 && !fields.get(1).isEmpty() ? fields.get(1) : null;
      lines.add(new GivenPath(resolved.apply(fields.get(0)), dataset));
    }
    if (lines.isEmpty()) {
      throw new InvalidInputException("the list " + list + " contains no files");
    }
    return lines;
  }

  /** The fields of a line; null if a quote is unclosed, or if text follows the closing quote. */
  static List<String> fields(String line) {
    List<String> fields = new ArrayList<>();
    int position = 0;
    while (true) {
      StringBuilder field = new StringBuilder();
      while (position < line.length() && line.charAt(position) == ' ') {
        position++;
      }
      if (position < line.length() && line.charAt(position) == '"') {
        position++;
        while (true) {
          if (position >= line.length()) {
            return null;
          }
          char c = line.charAt(position++);
          if (c != '"') {
            field.append(c);
          } else if (position < line.length() && line.charAt(position) == '"') {
            field.append('"');
            position++;
          } else {
            break;
          }
        }
        while (position < line.length() && line.charAt(position) == ' ') {
          position++;
        }
        if (position < line.length() && line.charAt(position) != ',') {
          return null;
        }
        fields.add(field.toString());
      } else {
        while (position < line.length() && line.charAt(position) != ',') {
          field.append(line.charAt(position++));
        }
        fields.add(field.toString().trim());
      }
      if (position >= line.length()) {
        return fields;
      }
      position++;
    }
  }
}
