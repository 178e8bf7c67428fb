// Font, colours and geometry of the contact sheet.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "examples/feature_maps/contact_sheet.hpp"
#include "examples/feature_maps/filter_bank.hpp"
#include "examples/feature_maps/font.hpp"
#include "examples/feature_maps/map_rendering.hpp"
#include "examples/feature_maps/second_layer.hpp"

namespace feature_maps {
namespace {

constexpr Rgb kWhite{255, 255, 255};

int litPixels(const Image& image) {
  int lit = 0;
  for (int i = 0; i < image.width * image.height; ++i) lit += image.at(i % image.width, i / image.width) == kWhite;
  return lit;
}

Image drawn(std::string_view text, int scale) {
  Image image(textWidth(text, scale) + scale, kGlyphHeight * scale);
  drawText(image, 0, 0, text, kWhite, scale);
  return image;
}

TEST(Font, CoversPrintableAsciiAndEveryLabel) {
  for (char c = ' '; c <= '~'; ++c) EXPECT_TRUE(fontCovers(std::string(1, c))) << c;
  EXPECT_TRUE(fontCovers("°σλ×"));
  EXPECT_FALSE(fontCovers("漢"));
  const FilterBank bank = makeFilterBank();
  const SecondLayer second = makeSecondLayer(bank);
  for (const Filter& filter : bank.filters) EXPECT_TRUE(fontCovers(filter.name)) << filter.name;
  for (const Section& section : bank.sections) EXPECT_TRUE(fontCovers(section.heading)) << section.heading;
  for (const Combination& combination : second.combinations) EXPECT_TRUE(fontCovers(combination.name)) << combination.name;
  for (const Section& section : second.sections) EXPECT_TRUE(fontCovers(section.heading)) << section.heading;
}

TEST(Font, GlyphsAreDistinctAndNotEmpty) {
  std::set<std::string> pictures;
  for (char c = '!'; c <= '~'; ++c) {
    const Image image = drawn(std::string(1, c), 1);
    EXPECT_GT(litPixels(image), 1) << c;
    EXPECT_TRUE(pictures.emplace(image.rgb.begin(), image.rgb.end()).second) << c << " looks like another character";
  }
}

TEST(Font, DrawsAnL) {
  const Image image = drawn("L", 1);
  for (int y = 0; y < kGlyphHeight; ++y) {
    for (int x = 0; x < kGlyphWidth; ++x) EXPECT_EQ(image.at(x, y) == kWhite, y < 7 && (x == 0 || y == 6)) << x << "," << y;
  }
}

TEST(Font, ScaleMultipliesDots) {
  EXPECT_EQ(litPixels(drawn("Gabor λ4 45°", 3)), 9 * litPixels(drawn("Gabor λ4 45°", 1)));
  EXPECT_EQ(textWidth("ab°", 2), 2 * (3 * kGlyphAdvance - 1));
  EXPECT_EQ(textWidth("", 2), 0);
}

TEST(Font, CutsOffAtTheEdges) {
  Image image(4, 4);
  drawText(image, -3, -3, "WWW", kWhite, 2);
  drawText(image, 2, 2, "漢", kWhite, 4);
  EXPECT_GT(litPixels(image), 0);
}

TEST(Colours, ZeroIsDarkAndSignsDiffer) {
  const Rgb zero = divergingColour(0), warm = divergingColour(1), cold = divergingColour(-1);
  EXPECT_LT(zero[0] + zero[1] + zero[2], 100);
  EXPECT_GT(warm[0], warm[2]);
  EXPECT_GT(cold[2], cold[0]);
  EXPECT_EQ(divergingColour(-7), cold);
  int last = -1;
  for (int i = 0; i <= 20; ++i) {  // brightness (Rec. 601 weights) never falls
    const Rgb colour = heatColour(i / 20.0);
    const int brightness = 299 * colour[0] + 587 * colour[1] + 114 * colour[2];
    EXPECT_GE(brightness, last);
    last = brightness;
  }
}

TEST(Colours, SignedMapsShowTheStrongestOfSeveralValues) {
  Maps maps{4, 2, 1, {0.1f, 0, 0, 0, -1, 0, 0, 0.5f}};
  const Image image = renderSigned(maps, 0, 2);
  ASSERT_EQ(image.width, 2);
  ASSERT_EQ(image.height, 1);
  EXPECT_EQ(image.at(0, 0), divergingColour(-1));
  EXPECT_GT(image.at(1, 0)[0], image.at(1, 0)[2]) << "positive is warm";
}

TEST(Colours, FlatMapsDoNotDivideByZero) {
  Maps maps{8, 8, 8, std::vector<float>(8 * 8 * 8, 0.0f)};
  EXPECT_EQ(renderSigned(maps, 0, 8).at(3, 3), divergingColour(0));
  EXPECT_EQ(renderPositive(maps, 1, 8).at(3, 3), heatColour(0));
  EXPECT_EQ(renderGrey(maps, 2).at(3, 3), (Rgb{0, 0, 0}));
  EXPECT_LT(renderDirections(maps, 0, 8).at(3, 3)[1], 40);
}

TEST(Colours, DirectionIsTheHueOfTheStrongestChannel) {
  Maps maps{2, 1, 8, std::vector<float>(16)};
  maps.values[0] = 1;      // pixel 0: 0 degrees
  maps.values[8 + 4] = 1;  // pixel 1: 90 degrees, the opposite hue
  const Image image = renderDirections(maps, 0, 8);
  EXPECT_GT(image.at(0, 0)[0], image.at(0, 0)[1]);
  EXPECT_LT(image.at(1, 0)[0], image.at(1, 0)[1]);
}

SheetContent sampleContent(int width, int height) {
  const FilterBank bank = makeFilterBank();
  const SecondLayer second = makeSecondLayer(bank);
  const Image picture(width, height, {90, 90, 90});
  SheetContent content;
  content.title = "Feature maps";
  content.subtitle = "a subtitle";
  content.heroes = {{"Photograph", picture}, {"Directions", picture}};
  for (const ColourEffect& effect : bank.effects) content.effects.push_back({effect.name, picture});
  for (const Section& section : bank.sections) {
    TileRow& row = content.rows.emplace_back(TileRow{section.heading, {}});
    for (int i = 0; i < section.maps; ++i) {
      row.tiles.push_back({bank.filters[static_cast<size_t>(section.firstMap + i)].name, picture});
    }
  }
  for (const Section& section : second.sections) {
    TileRow& row = content.rows.emplace_back(TileRow{section.heading, {}});
    for (int i = 0; i < section.maps; ++i) {
      row.tiles.push_back({second.combinations[static_cast<size_t>(section.firstMap + i)].name, picture});
    }
  }
  content.footer = {"first line", "second line"};
  return content;
}

bool overlap(const Rectangle& a, const Rectangle& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

class SheetGeometry : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(SheetGeometry, NothingOverlapsOrLeavesTheSheet) {
  const SheetContent content = sampleContent(GetParam().first, GetParam().second);
  const SheetLayout layout = layOut(content);
  std::vector<Rectangle> areas;
  for (const PlacedPicture& placed : layout.pictures) areas.push_back(placed.frame);
  for (const PlacedText& text : layout.texts) {
    ASSERT_GT(textWidth(text.text, text.scale), 0);
    areas.push_back({textWidth(text.text, text.scale), kGlyphHeight * text.scale, text.x, text.y});
  }
  for (size_t i = 0; i < areas.size(); ++i) {
    EXPECT_GT(areas[i].width, 0);
    EXPECT_GT(areas[i].height, 0);
    EXPECT_GE(areas[i].x, 20);
    EXPECT_GE(areas[i].y, 20);
    EXPECT_LE(areas[i].x + areas[i].width, layout.width - 20);
    EXPECT_LE(areas[i].y + areas[i].height, layout.height - 20);
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(overlap(areas[i], areas[j])) << i << " and " << j;
  }
  size_t tiles = content.heroes.size() + content.effects.size();
  for (const TileRow& row : content.rows) tiles += row.tiles.size();
  EXPECT_EQ(layout.pictures.size(), tiles);
}

TEST_P(SheetGeometry, RenderedPicturesLieInTheirFrames) {
  const SheetContent content = sampleContent(GetParam().first, GetParam().second);
  const SheetLayout layout = layOut(content);
  const Image sheet = render(layout);
  EXPECT_EQ(sheet.width, layout.width);
  EXPECT_EQ(sheet.height, layout.height);
  for (const PlacedPicture& placed : layout.pictures) {
    const Rectangle& f = placed.frame;
    EXPECT_EQ(sheet.at(f.x + f.width / 2, f.y + f.height / 2), (Rgb{90, 90, 90}));
    EXPECT_NE(sheet.at(f.x - 1, f.y + f.height / 2), (Rgb{90, 90, 90}));
    EXPECT_NE(sheet.at(f.x + f.width, f.y + f.height / 2), (Rgb{90, 90, 90}));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SheetGeometry,
                         testing::Values(std::pair{256, 256}, std::pair{48, 48}, std::pair{320, 180}, std::pair{100, 240},
                                         std::pair{900, 20}),
                         [](const auto& info) {
                           return std::to_string(info.param.first) + "x" + std::to_string(info.param.second);
                         });

}  // namespace
}  // namespace feature_maps
