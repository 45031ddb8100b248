package io.hyperslab.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.hyperslab.HyperslabException;
import io.hyperslab.InternalException;
import io.hyperslab.IoException;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The folder of the option {@code badRecordsPath}: one JSON file for each file that was skipped because it is damaged, with
 * the path, the reason and the time. A file that is skipped again for the same reason is named once.
 */
final class BadRecords implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final String FOLDER = "bad_files";
  private static final Pattern PLACE =
      Pattern.compile(".* \\(file (.*?)(?:, object .*?)?(?:, offset [0-9]+)?\\)", Pattern.DOTALL);

  private final String folder;
  private final HadoopFiles hadoop;

  /** @param folder a local folder that every executor sees; it is created when a file is skipped */
  BadRecords(String folder) {
    this(folder, null);
  }

  /** @param hadoop the file system of the folder; null if it is local */
  BadRecords(String folder, HadoopFiles hadoop) {
    this.hadoop = hadoop;
    this.folder = hadoop == null ? LocalPath.of(folder) : hadoop.address(folder);
  }

  void add(HyperslabException error) {
    add(error.file() == null ? "" : error.file(), error.getMessage());
  }

  /** @param message an error of the native library, which ends with the place: {@code … (file a.h5, offset 96)} */
  void add(String message) {
    Matcher place = PLACE.matcher(message);
    add(place.matches() ? place.group(1) : "", message);
  }

  private void add(String path, String reason) {
    ObjectNode record = ReadOptions.JSON.createObjectNode();
    record
        .put("path", path)
        .put("reason", reason)
        .put("timestamp", Instant.now().toString());
    UUID name = UUID.nameUUIDFromBytes((path + "\0" + reason).getBytes(StandardCharsets.UTF_8));
    if (hadoop != null) {
      hadoop.write(
          folder + "/" + FOLDER + "/" + name + ".json",
          (record + "\n").getBytes(StandardCharsets.UTF_8));
      return;
    }
    Path target = Paths.get(folder, FOLDER, name + ".json");
    try {
      java.nio.file.Files.createDirectories(target.getParent());
      // Readers of the folder see whole records: hidden names are skipped.
      Path hidden = target.resolveSibling("." + name + "-" + UUID.randomUUID());
      java.nio.file.Files.write(
          hidden,
          (ReadOptions.JSON.writeValueAsString(record) + "\n").getBytes(StandardCharsets.UTF_8));
      java.nio.file.Files.move(
          hidden, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (JsonProcessingException error) {
      throw new InternalException("a record that is not JSON: " + error.getMessage());
    } catch (IOException error) {
      throw new IoException(
          "cannot write into badRecordsPath: " + error, target.toString(), null, null);
    }
  }
}
