package io.hyperslab.spark.hadoop;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What killed writes left in the folder with the subfiles of a master. Nothing shows that a write is running, so it counts as
 * killed if nothing in its folder was changed for a day. A write whose folder has the record of a commit may have been visible,
 * and other masters may name it, so it stays.
 */
public final class HadoopLeftovers {
  /** Name of the record of a commit in the folder of its write. */
  public static final String RECORD = "commit.json";

  private static final long DAY_MILLISECONDS = 24 * 3600 * 1000L;
  private static final Pattern MEMBER = Pattern.compile("/([0-9a-f]{32})/([^/]+)");

  private HadoopLeftovers() {}

  /** Removes the folders of killed writes. */
  public static void remove(HadoopOutput output, String container) {
    Map<String, Long> newest = new HashMap<>();
    Set<String> recorded = new HashSet<>();
    for (HadoopEntry file : output.filesBelow(container)) {
      Matcher member = MEMBER.matcher(file.address.substring(container.length()));
      if (member.matches()) {
        newest.merge(member.group(1), file.modified, Math::max);
        if (member.group(2).equals(RECORD)) {
          recorded.add(member.group(1));
        }
      }
    }
    long oldest = System.currentTimeMillis() - DAY_MILLISECONDS;
    newest.forEach((write, modified) -> {
      if (modified < oldest && !recorded.contains(write)) {
        output.remove(container + "/" + write);
      }
    });
  }
}
