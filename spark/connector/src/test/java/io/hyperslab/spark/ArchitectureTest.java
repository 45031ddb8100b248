package io.hyperslab.spark;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.Test;

/** Checks dependencies: connector uses native and Spark, native uses only the JDK, and no module uses arrow-java. */
public class ArchitectureTest {
  private static final Pattern IMPORT =
      Pattern.compile("^import (?:static )?([\\w.]+);", Pattern.MULTILINE);
  private static final Path SPARK = Paths.get("").toAbsolutePath().getParent();

  private static List<Path> sources(String module) throws IOException {
    try (Stream<Path> walk =
        java.nio.file.Files.walk(SPARK.resolve(module).resolve("src/main/java"))) {
      List<Path> sources =
          walk.filter(file -> file.toString().endsWith(".java")).collect(Collectors.toList());
      assertFalse("no sources of " + module, sources.isEmpty());
      return sources;
    }
  }

  private static TreeSet<String> importsOutside(String module, String... allowed)
      throws IOException {
    TreeSet<String> found = new TreeSet<>();
    for (Path source : sources(module)) {
      Matcher imports = IMPORT.matcher(
          new String(java.nio.file.Files.readAllBytes(source), StandardCharsets.UTF_8));
      while (imports.find()) {
        String name = imports.group(1);
        if (Stream.of(allowed).noneMatch(prefix -> name.startsWith(prefix))) {
          found.add(source.getFileName() + ": " + name);
        }
      }
    }
    return found;
  }

  @Test
  public void nativeUsesOnlyTheJdk() throws IOException {
    assertEquals(Collections.emptySet(), importsOutside("native", "java."));
  }

  @Test
  public void connectorUsesNativeAndSpark() throws IOException {
    assertEquals(
        Collections.emptySet(),
        importsOutside(
            "connector",
            "java.",
            "io.hyperslab.",
            "org.apache.spark.",
            "org.apache.hadoop.",
            "org.slf4j.",
            "scala.",
            "com.fasterxml.jackson."));
  }

  @Test
  public void connectorDoesNotUseMllib() throws IOException {
    assertEquals(Collections.emptySet(), importsOf("connector", "io.hyperslab.spark.mllib"));
    assertEquals(Collections.emptySet(), importsOf("connector", "org.apache.spark.mllib"));
  }

  @Test
  public void mllibUsesTheConnectorAndOnlyExceptionsOfNative() throws IOException {
    TreeSet<String> imports = importsOf("mllib", "io.hyperslab.");
    imports.removeIf(name -> name.endsWith("Exception") || name.contains("io.hyperslab.spark."));
    assertEquals(Collections.emptySet(), imports);
  }

  @Test
  public void fewClassesUseScala() throws IOException {
    // One jar runs with Scala 2.12 and 2.13, so the classes that it uses must be the same in both.
    TreeSet<String> used = importsOf("connector", "scala.");
    used.removeIf(name -> name.startsWith("Hdf5Extensions.java: scala.runtime.")
        || name.equals("SaveModes.java: scala.Tuple2")
        || name.equals("SaveModes.java: scala.collection.Iterator")
        || name.equals("CachedFrames.java: scala.collection.Iterator"));
    assertEquals(Collections.emptySet(), used);
  }

  private static TreeSet<String> importsOf(String module, String prefix) throws IOException {
    TreeSet<String> all = importsOutside(module);
    all.removeIf(name -> !name.contains(": " + prefix));
    return all;
  }
}
