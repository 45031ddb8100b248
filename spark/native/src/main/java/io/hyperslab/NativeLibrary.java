package io.hyperslab;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;

/**
 * Loads the native library from a private copy, once per class loader: the JVM refuses to load a file in two class loaders,
 * and a driver has several. A library on {@code java.library.path} takes precedence over the one in the jar. Copies are
 * created in the folder that the system property {@code hyperslab.native.folder} names (by default the temporary folder)
 * and deleted as soon as they are loaded.
 */
final class NativeLibrary {
  private static final String NAME = "hyperslab_jni";
  private static final String FOLDER_PROPERTY = "hyperslab.native.folder";

  static {
    loadPrivateCopy();
  }

  private NativeLibrary() {}

  /** Ensures that this class is initialized, which loads the library. */
  static void load() {}

  private static void loadPrivateCopy() {
    String parent = System.getProperty(FOLDER_PROPERTY, System.getProperty("java.io.tmpdir"));
    try {
      Files.createDirectories(Paths.get(parent));
      Path folder = Files.createTempDirectory(Paths.get(parent), "hyperslab-");
      Path copy = folder.resolve(System.mapLibraryName(NAME));
      try {
        copyTo(copy);
        System.load(copy.toAbsolutePath().toString());
      } finally {
        Files.deleteIfExists(copy);
        Files.deleteIfExists(folder);
      }
    } catch (IOException error) {
      throw new IllegalStateException(
          "cannot copy the native library to \"" + parent + "\": choose another folder with -D"
              + FOLDER_PROPERTY + "=...",
          error);
    }
  }

  private static void copyTo(Path copy) throws IOException {
    String file = System.mapLibraryName(NAME);
    for (String folder : System.getProperty("java.library.path", "").split(File.pathSeparator)) {
      Path candidate = Paths.get(folder.isEmpty() ? "." : folder, file);
      if (Files.isRegularFile(candidate)) {
        Files.copy(candidate, copy, StandardCopyOption.REPLACE_EXISTING);
        return;
      }
    }
    String resource = "native/" + platform() + "/" + file;
    try (InputStream stream = NativeLibrary.class.getResourceAsStream(resource)) {
      if (stream == null) {
        throw new UnsatisfiedLinkError("no native library for " + platform()
            + " in this jar or on java.library.path: use a jar built for this platform");
      }
      Files.copy(stream, copy, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private static String platform() {
    String system = System.getProperty("os.name").toLowerCase(java.util.Locale.ROOT);
    String machine = System.getProperty("os.arch");
    String os =
        system.startsWith("mac") ? "macos" : system.startsWith("windows") ? "windows" : "linux";
    return os + "-" + (machine.equals("amd64") ? "x86_64" : machine);
  }
}
