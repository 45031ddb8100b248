package io.hyperslab.spark;

import io.hyperslab.InvalidInputException;
import io.hyperslab.IoException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A text or CSV file with a line {@code file,dataset} for each input, or {@code file} alone. Names are relative to the
 * list's folder; empty lines and those that begin with # mean nothing, a first line {@code file,dataset} is a heading,
 * and a name with a comma stands in double quotes.
 */
final class FileList {
  /** One line. */
  static final class Line {
    /** As it was written, relative names resolved. */
    final String file;
    /** Null where the line has none. */
    final String dataset;

    Line(String file, String dataset) {
      this.file = file;
      this.dataset = dataset;
    }
  }

  private FileList() {}

  /** By its name: no HDF5 file is called so. */
  static boolean is(Path path) {
    String name = path.getFileName() == null ? "" : path.getFileName().toString().toLowerCase(java.util.Locale.ROOT);
    return (name.endsWith(".csv") || name.endsWith(".txt")) && java.nio.file.Files.isRegularFile(path);
  }

  static List<Line> read(Path list) {
    List<String> texts;
    try {
      texts = java.nio.file.Files.readAllLines(list, StandardCharsets.UTF_8);
    } catch (IOException error) {
      throw new IoException("the list is no text in UTF-8: " + error.getMessage(), list.toString(), null, null);
    }
    List<Line> lines = new ArrayList<>();
    for (int number = 0; number < texts.size(); number++) {
      String text = texts.get(number).trim();
      if (text.isEmpty() || text.startsWith("#") || (number == 0 && text.replace(" ", "").matches("(?i)file(,dataset)?"))) {
        continue;
      }
      List<String> fields = fields(text);
      if (fields == null || fields.size() > 2 || fields.get(0).isEmpty()) {
        throw new InvalidInputException("line " + (number + 1) + " of the list " + list + " is no \"file,dataset\": " + text);
      }
      String dataset = fields.size() == 2 && !fields.get(1).isEmpty() ? fields.get(1) : null;
      String file = fields.get(0);
      lines.add(new Line(Files.hasScheme(file) ? file : list.resolveSibling(file).toString(), dataset));
    }
    if (lines.isEmpty()) {
      throw new InvalidInputException("the list " + list + " names no file");
    }
    return lines;
  }

  /** Null where a quote is not closed, or closes in the middle. */
  static List<String> fields(String line) {
    List<String> fields = new ArrayList<>();
    int at = 0;
    while (true) {
      StringBuilder field = new StringBuilder();
      while (at < line.length() && line.charAt(at) == ' ') {
        at++;
      }
      if (at < line.length() && line.charAt(at) == '"') {
        at++;
        while (true) {
          if (at >= line.length()) {
            return null;
          }
          char c = line.charAt(at++);
          if (c != '"') {
            field.append(c);
          } else if (at < line.length() && line.charAt(at) == '"') {
            field.append('"');
            at++;
          } else {
            break;
          }
        }
        while (at < line.length() && line.charAt(at) == ' ') {
          at++;
        }
        if (at < line.length() && line.charAt(at) != ',') {
          return null;
        }
        fields.add(field.toString());
      } else {
        while (at < line.length() && line.charAt(at) != ',') {
          field.append(line.charAt(at++));
        }
        fields.add(field.toString().trim());
      }
      if (at >= line.length()) {
        return fields;
      }
      at++;
    }
  }
}
